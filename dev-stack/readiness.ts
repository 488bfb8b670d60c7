import { setTimeout as sleep } from 'node:timers/promises';
import type { Leashed } from './leashed.js';

/** How long a server may take until it answers, in ms: recovery after a crash included. */
const READY_MS = 120_000;

/**
 * Asks until the server answers. Stops it and throws when it ends before, or does not answer in time;
 * the message holds the end of its log.
 */
export async function untilReady(server: Leashed, title: string, ask: () => Promise<boolean>): Promise<void> {
  let end: string | undefined;
  void server.ended.then((reason) => {
    end = reason;
  });
  const deadline = Date.now() + READY_MS;
  let last: unknown;
  while (end === undefined && Date.now() < deadline) {
    try {
      if (await ask()) return;
    } catch (error) {
      last = error;
    }
    await sleep(50);
  }
  const early = end;
  await server.stop();
  if (early !== undefined) throw new Error(`${title} ${early}`);
  throw new Error(`${title} did not answer in ${READY_MS / 1000} s: ${last instanceof Error ? last.message : ''}`);
}
