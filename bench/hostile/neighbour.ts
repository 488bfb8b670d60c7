import { setTimeout as wait } from 'node:timers/promises';
import { type ApiAccess, call } from '../support/api-client.js';
import { startReceiver } from '../support/receiver.js';
import { createDatabase, ingest } from '../support/work.js';

/** After this time a note counts as lost. */
const GIVE_UP_MS = 120_000;

export type Neighbour = Awaited<ReturnType<typeof createNeighbour>>;

/** An organisation that only sends a short note now and then, and waits for its webhook. */
export async function createNeighbour(access: ApiAccess) {
  const waiting = new Map<string, () => void>();
  const receiver = await startReceiver((body) => {
    waiting.get(JSON.parse(body.toString()).id)?.();
    return 204;
  });
  await call(access, 'POST', '/webhooks/indexing', { url: receiver.url });
  await createDatabase(access, 'notes');
  let number = 0;

  /** @returns milliseconds from the request to the webhook; also when the API rejects or drops the request */
  async function sendNote(): Promise<number> {
    const id = `note-${++number}`;
    const giveUp = AbortSignal.timeout(GIVE_UP_MS);
    const started = performance.now();
    const notified = new Promise<void>((done) => waiting.set(id, done));
    while (!giveUp.aborted) {
      try {
        await ingest(access, 'notes', 'memories', [{ id, text: `A note about the lamp of house ${number}.` }]);
        break;
      } catch {
        await wait(200);
      }
    }
    await Promise.race([notified, wait(GIVE_UP_MS, undefined, { signal: giveUp }).catch(() => undefined)]);
    waiting.delete(id);
    return performance.now() - started;
  }

  return {
    sendNote,
    async sendNotes(count: number): Promise<number[]> {
      const waits: number[] = [];
      while (waits.length < count) waits.push(await sendNote());
      return waits;
    },
    close: () => receiver.close(),
  };
}
