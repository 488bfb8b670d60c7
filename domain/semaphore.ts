interface Waiting {
  enter(): void;
  owner: string;
  /** Those with lower turns enter first. */
  turn: number;
}

/**
 * Limits how much runs at the same time. Owners take turns: one that waits for many places does not hold up the others.
 * Without owners, waiting ends in the order in which it began. It also ends when the signal aborts.
 */
export function createSemaphore(count: number) {
  let free = count;
  const waiting: Waiting[] = [];
  /** The turn of the last one that waited and entered: a new owner is not behind those that have waited since. */
  let lastTurn = 0;

  function turnOf(owner: string): number {
    const last = waiting.findLast((other) => other.owner === owner);
    return last === undefined ? lastTurn : last.turn + 1;
  }

  return {
    /** @param owner on whose behalf; the organisation, for example @throws the signal's reason when it was aborted */
    async acquire(signal?: AbortSignal, owner = ''): Promise<void> {
      signal?.throwIfAborted();
      if (free > 0) {
        free--;
        return;
      }
      await new Promise<void>((resolve, reject) => {
        const own: Waiting = {
          enter() {
            signal?.removeEventListener('abort', leave);
            resolve();
          },
          owner,
          turn: turnOf(owner),
        };
        const leave = () => {
          waiting.splice(waiting.indexOf(own), 1);
          reject(signal?.reason);
        };
        waiting.splice(waiting.findLastIndex(({ turn }) => turn <= own.turn) + 1, 0, own);
        signal?.addEventListener('abort', leave, { once: true });
      });
    },
    release(): void {
      const next = waiting.shift();
      if (!next) {
        free++;
        return;
      }
      lastTurn = Math.max(lastTurn, next.turn);
      next.enter();
    },
  };
}

/** So many places for each key, such as an organisation. A key that nobody uses takes no memory. */
export function createKeyedSemaphore(count: number) {
  const byKey = new Map<string, { places: ReturnType<typeof createSemaphore>; users: number }>();

  return {
    /** @returns a function that frees the place @throws the signal's reason when it was aborted */
    async acquire(key: string, signal?: AbortSignal): Promise<() => void> {
      const entry = byKey.get(key) ?? { places: createSemaphore(count), users: 0 };
      byKey.set(key, entry);
      entry.users += 1;
      const leave = () => {
        entry.users -= 1;
        if (entry.users === 0) byKey.delete(key);
      };
      await entry.places.acquire(signal).catch((reason: unknown) => {
        leave();
        throw reason;
      });
      return () => {
        entry.places.release();
        leave();
      };
    },
  };
}
