import { setTimeout as wait } from 'node:timers/promises';

/** Everything takes seconds. */
const TIMEOUT_MS = 180_000;
const POLL_MS = 150;

/** Polls until the result is neither false nor undefined. @throws Error after three minutes */
export async function until<T>(
  what: string,
  poll: () => Promise<T | false | undefined> | T | false | undefined,
): Promise<T> {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    const result = await poll();
    if (result !== false && result !== undefined) return result;
    if (Date.now() > deadline) throw new Error(`the demo waited for ${what} for ${TIMEOUT_MS / 1000} s`);
    await wait(POLL_MS);
  }
}
