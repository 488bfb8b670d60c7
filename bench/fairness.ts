import { type ApiAccess, call } from './support/api-client.js';
import { startBenchInstance } from './support/instance.js';
import { percentile } from './support/measure.js';
import { startReceiver } from './support/receiver.js';
import { createDatabase, ingest } from './support/work.js';

const BACKLOG = 1_500;
const NOTES = 15;

/** Measures how long a note takes from ingest to webhook, alone and beside a bulk ingest of another organisation. */
export async function fairness(): Promise<void> {
  const instance = await startBenchInstance();
  const waiting = new Map<string, () => void>();
  let bulkDone = 0;
  const receiver = await startReceiver((body) => {
    const { id } = JSON.parse(body.toString()) as { id: string };
    if (id.startsWith('bulk')) bulkDone += 1;
    waiting.get(id)?.();
    return 204;
  });
  const accessOf = async (org: string): Promise<ApiAccess> => {
    const access = { apiUrl: instance.apiUrl, key: await instance.createKey('api', org) };
    await call(access, 'POST', '/webhooks/indexing', { url: receiver.url });
    await createDatabase(access, 'notes');
    return access;
  };

  /** @returns milliseconds from the request to the webhook, of notes sent one after the other */
  async function sendNotes(access: ApiAccess, prefix: string): Promise<number[]> {
    const durations: number[] = [];
    for (let n = 0; n < NOTES; n += 1) {
      const id = `${prefix}-${n}`;
      const notified = new Promise<void>((done) => waiting.set(id, done));
      const started = performance.now();
      await ingest(access, 'notes', 'memories', [{ id, text: `A note about the lamp of house ${n}.` }]);
      await notified;
      durations.push(performance.now() - started);
    }
    return durations;
  }

  try {
    const bulk = await accessOf('bulk');
    const neighbour = await accessOf('neighbour');
    await sendNotes(neighbour, 'warm');
    const quiet = await sendNotes(neighbour, 'quiet');
    const entries = Array.from({ length: BACKLOG }, (_, n) => ({
      id: `bulk-${n}`,
      text: `Entry ${n} of a long list.`,
    }));
    await ingest(bulk, 'notes', 'memories', entries);
    const beside = await sendNotes(neighbour, 'beside');
    const left = BACKLOG - bulkDone;
    console.log(`
a note, quiet                     median ${percentile(quiet, 0.5).toFixed(0)} ms, longest ${Math.max(...quiet).toFixed(0)} ms
beside ${BACKLOG} notes of another org  median ${percentile(beside, 0.5).toFixed(0)} ms, longest ${Math.max(...beside).toFixed(0)} ms   (${left} of them were left at the end)
`);
  } finally {
    await receiver.close();
    await instance.stop();
  }
}
