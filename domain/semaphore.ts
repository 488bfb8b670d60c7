/** Limits how much runs at the same time. Waiting ends in the order in which it began, or when the signal aborts. */
export function createSemaphore(count: number) {
  let free = count;
  const waiting: (() => void)[] = [];
  return {
    /** @throws the signal's reason when it was aborted */
    async acquire(signal?: AbortSignal): Promise<void> {
      signal?.throwIfAborted();
      if (free > 0) {
        free--;
        return;
      }
      await new Promise<void>((resolve, reject) => {
        const enter = () => {
          signal?.removeEventListener('abort', leave);
          resolve();
        };
        const leave = () => {
          waiting.splice(waiting.indexOf(enter), 1);
          reject(signal?.reason);
        };
        waiting.push(enter);
        signal?.addEventListener('abort', leave, { once: true });
      });
    },
    release(): void {
      const next = waiting.shift();
      if (next) next();
      else free++;
    },
  };
}
