import type { Processes } from '../../storage/processes.js';
import type { Registrations } from '../../storage/webhooks/registrations.js';

export type ReceiverRates = ReturnType<typeof createReceiverRates>;

export interface ReceiverRateDependencies {
  registrations: Pick<Registrations, 'listRates'>;
  processes: Pick<Processes, 'countWorkers'>;
}

/** How long a limit and the number of processes are used. */
const VALID_MS = 2_000;

/**
 * How many attempts at each receiver may start in a second, for receivers that ask for a limit. Reads all limits with one query for all deliveries of some seconds. The processes that send share each limit, since what is due is
 * the same for all of them.
 * @param clock milliseconds
 */
export function createReceiverRates(
  { registrations, processes }: ReceiverRateDependencies,
  clock = () => performance.now(),
) {
  let rates: ReadonlyMap<string, number> = new Map();
  let senders = 1;
  let validUntil = Number.NEGATIVE_INFINITY;
  return {
    /** Reads the limits, unless they were read a moment ago. */
    async refresh(): Promise<void> {
      if (clock() < validUntil) return;
      rates = await registrations.listRates();
      if (rates.size > 0) senders = Math.max(1, await processes.countWorkers('deliveries'));
      validUntil = clock() + VALID_MS;
    },
    /** @returns the part of this process in the limit, per second; undefined without a limit */
    of(receiver: string): number | undefined {
      const rate = rates.get(receiver);
      return rate === undefined ? undefined : rate / senders;
    },
  };
}
