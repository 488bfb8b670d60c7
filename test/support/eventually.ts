import { setTimeout as wait } from 'node:timers/promises';

const SHORTEST_PAUSE_MS = 30;
const LONGEST_PAUSE_MS = 1_000;
/** Far longer than anything takes, because a busy machine can stand still for a minute. */
export const PATIENCE_MS = 240_000;

/**
 * Polls with growing pauses until the condition holds; long waits cost little CPU.
 * @param poll returns undefined, null or false, or throws, while the condition does not hold
 * @throws Error with the last result when the condition never holds
 */
export async function eventually<T>(
  what: string,
  poll: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  withinMs = PATIENCE_MS,
): Promise<T> {
  const started = Date.now();
  const elapsed = () => Date.now() - started;
  let last: unknown;
  while (elapsed() < withinMs) {
    try {
      const result = await poll();
      if (result !== undefined && result !== null && result !== false) return result;
      last = result;
    } catch (error) {
      last = error;
    }
    // Each look at the product costs it some milliseconds, which the awaited work needs itself. Most of its requests are
    // such looks.
    await wait(Math.min(SHORTEST_PAUSE_MS + elapsed() / 3, LONGEST_PAUSE_MS));
  }
  throw new Error(`${what}: not within ${withinMs} ms; last: ${last instanceof Error ? last.stack : String(last)}`);
}
