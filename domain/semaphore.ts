interface Waiting {
  enter(): void;
  owner: string;
  /** Those with lower turns enter first. */
  turn: number;
}

/**
 * Limits how much runs at the same time, together and of each owner. Owners take turns: one that waits for many places does not
 * hold up the others. Without owners, waiting ends in the order in which it began. It also ends when the signal aborts.
 */
export function createSemaphore({ places = Number.POSITIVE_INFINITY, perOwner = Number.POSITIVE_INFINITY }) {
  let taken = 0;
  /** An owner without a place takes no memory. */
  const takenBy = new Map<string, number>();
  const waiting: Waiting[] = [];
  /** The turn of the last one that waited and entered: a new owner is not behind those that have waited since. */
  let lastTurn = 0;

  const hasPlace = ({ owner }: Pick<Waiting, 'owner'>) => taken < places && (takenBy.get(owner) ?? 0) < perOwner;

  function take(owner: string): void {
    taken += 1;
    takenBy.set(owner, (takenBy.get(owner) ?? 0) + 1);
  }

  function leave(owner: string): void {
    taken -= 1;
    const left = takenBy.get(owner)! - 1;
    if (left > 0) takenBy.set(owner, left);
    else takenBy.delete(owner);
    const next = waiting.find(hasPlace);
    if (!next) return;
    waiting.splice(waiting.indexOf(next), 1);
    lastTurn = Math.max(lastTurn, next.turn);
    take(next.owner);
    next.enter();
  }

  function turnOf(owner: string): number {
    const last = waiting.findLast((other) => other.owner === owner);
    return last === undefined ? lastTurn : last.turn + 1;
  }

  /** Resolves when the place is taken. */
  function wait(owner: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const own: Waiting = {
        enter() {
          signal?.removeEventListener('abort', stop);
          resolve();
        },
        owner,
        turn: turnOf(owner),
      };
      const stop = () => {
        waiting.splice(waiting.indexOf(own), 1);
        reject(signal?.reason);
      };
      waiting.splice(waiting.findLastIndex(({ turn }) => turn <= own.turn) + 1, 0, own);
      signal?.addEventListener('abort', stop, { once: true });
    });
  }

  return {
    /** @returns a function that frees the place, to be called once; null when there is none now */
    tryAcquire(owner = ''): (() => void) | null {
      if (!hasPlace({ owner })) return null;
      take(owner);
      return () => leave(owner);
    },

    /**
     * @param owner on whose behalf; the organisation, for example
     * @returns a function that frees the place; to be called once
     * @throws the signal's reason when it was aborted
     */
    async acquire(signal?: AbortSignal, owner = ''): Promise<() => void> {
      signal?.throwIfAborted();
      if (hasPlace({ owner })) take(owner);
      else await wait(owner, signal);
      return () => leave(owner);
    },
  };
}
