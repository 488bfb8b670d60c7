import { createSemaphore } from '../../domain/semaphore.js';

/** Reads one piece of what was missed, when it is this client's turn. */
export type Step = <Result>(read: () => Promise<Result>) => Promise<Result>;

/** Reading of missed events: each reading passes over the log of all organisations. */
export interface CatchUps {
  /**
   * Runs when no other client of the organisation catches up.
   * @param work reads piece by piece; between two pieces, while its client reads, others have its place
   * @throws the signal's reason when it was aborted, a TimeoutError when it takes too long
   */
  run(org: string, signal: AbortSignal, work: (step: Step, signal: AbortSignal) => Promise<void>): Promise<void>;
}

/** Readings at the same time. */
const READERS = 4;
/** Then the client is disconnected, and continues where it was, behind the others of its organisation. */
const LIMIT_MS = 60_000;

export function createCatchUps(readers = READERS, limitMs = LIMIT_MS): CatchUps {
  const places = createSemaphore({ places: readers });
  const turns = createSemaphore({ perOwner: 1 });

  return {
    async run(org, signal, work) {
      const release = await turns.acquire(signal, org);
      try {
        const limited = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
        await work((read) => inPlace(org, limited, read), limited);
      } finally {
        release();
      }
    },
  };

  async function inPlace<Result>(org: string, signal: AbortSignal, read: () => Promise<Result>): Promise<Result> {
    const leave = await places.acquire(signal, org);
    return read().finally(leave);
  }
}
