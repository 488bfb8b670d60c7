import type { Outcome } from '../../storage/webhooks/outcome-updates.js';

/** Attempts of this process, from their claim until their outcome is stored. */
export function createAttemptsInProgress() {
  const outcomes = new Map<string, Promise<Outcome | null>>();
  let sending = 0;
  let ended = 0;
  let isWoken = false;
  let check = () => {};

  return {
    /** Requests to receivers whose end is not known yet. */
    get sending() {
      return sending;
    },
    /** What the delivery's attempt leads to; undefined when none is in progress. Null: its outcome is not known. */
    outcomeOf: (delivery: string) => outcomes.get(delivery),
    /**
     * @param sent the request to the receiver
     * @param record stores what it has led to, or gives the claim back
     */
    add<Sent>(
      delivery: string,
      sent: Promise<Sent>,
      record: (sent: PromiseSettledResult<Sent>) => Promise<Outcome | null>,
    ): void {
      sending += 1;
      const outcome = Promise.allSettled([sent])
        .then(([result]) => {
          sending -= 1;
          ended += 1;
          check();
          return record(result);
        })
        .finally(() => outcomes.delete(delivery));
      outcomes.set(delivery, outcome);
    },
    /** Waits until so many requests have ended, `wake` was called, or so many milliseconds have passed. */
    untilEnded(count: number, ms: number): Promise<void> {
      const target = ended + count;
      return new Promise((resume) => {
        const end = () => {
          clearTimeout(timer);
          check = () => {};
          isWoken = false;
          resume();
        };
        const timer = setTimeout(end, ms);
        check = () => {
          if (ended >= target || isWoken) end();
        };
        check();
      });
    },
    /** Ends the wait of `untilEnded`, now or when it begins. */
    wake(): void {
      isWoken = true;
      check();
    },
    /** Resolves when all outcomes are stored. */
    async settled(): Promise<void> {
      await Promise.allSettled(outcomes.values());
    },
  };
}
