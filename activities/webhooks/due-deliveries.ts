import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { DeliveryQueue, QueueHead } from '../../storage/webhooks/delivery-queue.js';

export type DueDeliveries = ReturnType<typeof createDueDeliveries>;

/** Claims for which deliveries are read at once, and at most so many deliveries. */
const CLAIMS_AHEAD = 4;
const MAX_AHEAD = 200;
/** How long the list of receivers is used, at least: a receiver that is new in the queue waits for so long. */
const HEADS_VALID_MS = 100;
/** The list is used for so many times as long as it took to read: with many receivers it costs more. */
const HEADS_COST_FACTOR = 5;
/** How long deliveries that were read ahead are used. The claim leaves out what has changed since. */
const AHEAD_VALID_MS = 1_000;
/** How long after a lost claim another process is expected to claim deliveries of the same receivers. */
const SHARED_FOR_MS = 1_000;
/** Among how many of the first deliveries of a receiver processes that share it begin to read. */
const SHARED_FROM = 1_000;

interface Ahead {
  deliveries: DeliveryRecord[];
  more: boolean;
  validUntil: number;
}

/**
 * The deliveries that are due. Reads those of several claims at a time, so that most claims need no query before them.
 * @param clock milliseconds
 */
export function createDueDeliveries(
  queue: Pick<DeliveryQueue, 'heads' | 'listDue' | 'read'>,
  clock = () => performance.now(),
  random = Math.random,
) {
  let heads: QueueHead[] = [];
  let validUntil = Number.NEGATIVE_INFINITY;
  /** Receivers whose deliveries have been taken since the list was read: their first delivery is another now. */
  const taken = new Set<string>();
  const ahead = new Map<string, Ahead>();
  let sharedUntil = Number.NEGATIVE_INFINITY;

  return {
    /** @returns each receiver in the queue, with its first delivery */
    async heads(now: Date): Promise<QueueHead[]> {
      const stale = heads.some(({ receiver, due }) => due <= now && taken.has(receiver) && !holds(receiver));
      if (clock() < validUntil && !stale) return heads;
      for (const receiver of ahead.keys()) if (!holds(receiver)) ahead.delete(receiver);
      const started = clock();
      heads = await queue.heads();
      taken.clear();
      validUntil = clock() + Math.max(HEADS_VALID_MS, HEADS_COST_FACTOR * (clock() - started));
      return heads;
    },
    holds,
    /**
     * Takes the first deliveries of a receiver that are due.
     * @returns at most so many, and whether there may be more
     */
    async take(receiver: string, wanted: number, now: Date): Promise<{ taken: DeliveryRecord[]; more: boolean }> {
      if (!holds(receiver)) ahead.set(receiver, await readAhead(receiver, wanted, now));
      taken.add(receiver);
      const { deliveries, more } = ahead.get(receiver)!;
      return { taken: deliveries.splice(0, wanted), more: more || deliveries.length > 0 };
    },
    /** @returns the first deliveries of these receivers */
    takeFirst(chosen: readonly QueueHead[]): Promise<DeliveryRecord[]> {
      for (const { receiver } of chosen) taken.add(receiver);
      return queue.read(chosen.map(({ delivery }) => delivery));
    },
    /**
     * Reads everything again, because another process has claimed deliveries that were read ahead. For a while each begins somewhere
     * else among the first deliveries of a receiver, so that they do not claim the same.
     */
    forget(): void {
      validUntil = Number.NEGATIVE_INFINITY;
      sharedUntil = clock() + SHARED_FOR_MS;
      ahead.clear();
    },
  };

  /** Whether `take` needs no query. */
  function holds(receiver: string): boolean {
    const held = ahead.get(receiver);
    return held !== undefined && held.deliveries.length > 0 && clock() < held.validUntil;
  }

  async function readAhead(receiver: string, wanted: number, now: Date): Promise<Ahead> {
    const limit = Math.min(CLAIMS_AHEAD * wanted, MAX_AHEAD);
    const skip = clock() < sharedUntil ? Math.floor(random() * SHARED_FROM) : 0;
    const later = skip === 0 ? [] : await queue.listDue(receiver, now, limit, skip);
    const deliveries = later.length > 0 ? later : await queue.listDue(receiver, now, limit);
    const more = later.length > 0 || deliveries.length === limit;
    return { deliveries, more, validUntil: clock() + AHEAD_VALID_MS };
  }
}
