import { setTimeout as wait } from 'node:timers/promises';

/**
 * Asks until the answer is there. @param ask gives undefined, null or false while the time has not come
 * @throws Error with the last answer when it never comes
 */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  withinMs = 150_000,
): Promise<T> {
  const deadline = Date.now() + withinMs;
  let last: unknown;
  while (Date.now() < deadline) {
    try {
      const got = await ask();
      if (got !== undefined && got !== null && got !== false) return got;
      last = got;
    } catch (error) {
      last = error;
    }
    await wait(50);
  }
  throw new Error(`${what}: not within ${withinMs} ms; last: ${last instanceof Error ? last.stack : String(last)}`);
}
