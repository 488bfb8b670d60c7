import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { createApiKeys } from '../storage/api-keys.js';
import { call, provision, request } from './api-client.js';
import { type BenchInstance, startBenchInstance } from './instance.js';
import { startRecordingReceiver } from './recording-receiver.js';

const MINUTES = 2;
/** Milliseconds between two kills: the least, and what comes on top at random. */
const PAUSE = { least: 2_000, more: 6_000 };
const CLIENTS = 4;
const ITEMS_A_REQUEST = 4;
/** For what is under way when the load ends. Work whose process died is found again by a time-out or by the sweep. */
const PATIENCE_MS = 15 * 60_000;

/** Sends some work. @returns the ids that the API has promised to announce. @throws Error when it made no promise */
type Send = () => Promise<string[]>;

/**
 * Kills the API and the worker process at random while work comes in, and then counts: what was accepted has to be
 * announced, whoever died on the way.
 * @throws Error that names what never was
 */
export async function crashes(): Promise<void> {
  const instance = await startBenchInstance({
    POSTBACK_RECONCILE_SECONDS: '5',
    POSTBACK_RECONCILE_QUIET_SECONDS: '10',
    POSTBACK_DELIVERY_SCHEDULE_MS: '1000,2000,3000',
  });
  const receiver = await startRecordingReceiver();
  try {
    await call(instance, 'POST', '/webhooks/indexing', { url: receiver.url });
    await provision(instance, 'bench');
    const kinds = {
      items: items(instance),
      'AI jobs': jobs(instance, receiver.url),
      crews: await crews(instance, receiver.url),
    };
    const until = Date.now() + MINUTES * 60_000;
    const [kills, ...accepted] = await Promise.all([
      killAtRandom(instance, until),
      ...Object.values(kinds).map((send) => sendUntil(send, until)),
    ]);
    const counts = Object.keys(kinds).map((kind, at) => `${accepted[at]!.length} ${kind}`);
    console.log(`killed     the API ${kills.api} times, the worker ${kills.worker} times, in ${MINUTES} minutes`);
    console.log(`accepted   ${counts.join(', ')}`);
    const promised = accepted.flat();
    const missing = () => promised.filter((id) => !receiver.taken.has(id));
    const patience = Date.now() + PATIENCE_MS;
    while (missing().length > 0 && Date.now() < patience) await wait(500);
    const lost = missing();
    const again = promised.filter((id) => (receiver.taken.get(id) ?? 0) > 1);
    console.log(`announced  ${promised.length - lost.length}, of which ${receiver.refused()} were refused at first`);
    console.log(`again      ${again.length}, as a process died between sending and recording`);
    if (lost.length > 0) throw new Error(`never announced: ${lost.join(', ')}`);
  } finally {
    await receiver.close();
    await instance.stop();
  }
}

async function killAtRandom(instance: BenchInstance, until: number): Promise<{ api: number; worker: number }> {
  const kills = { api: 0, worker: 0 };
  for (;;) {
    await wait(PAUSE.least + Math.random() * PAUSE.more);
    if (Date.now() >= until) return kills;
    const name = Math.random() < 0.5 ? 'api' : 'worker';
    if (instance.kill(name)) kills[name] += 1;
  }
}

/** Several clients of one kind of work, each with one request at a time. */
async function sendUntil(send: Send, until: number): Promise<string[]> {
  const accepted: string[] = [];
  const client = async () => {
    while (Date.now() < until) {
      // What was refused, or cut off before the answer, was not promised.
      accepted.push(...(await send().catch(() => [])));
      await wait(Math.random() * 500);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return accepted;
}

function items(instance: BenchInstance): Send {
  return async () => {
    const memories = Array.from({ length: ITEMS_A_REQUEST }, () => {
      const id = randomUUID();
      return { id, text: `The keeper made a note about the lamp; it has the number ${id}.` };
    });
    const form = new FormData();
    form.set('database', 'bench');
    form.set('memories', JSON.stringify(memories));
    await call(instance, 'POST', '/context/ingest', form);
    return memories.map(({ id }) => id);
  };
}

function jobs(instance: BenchInstance, webhook_receiver: string): Send {
  const model = 'text/language_detection/eld';
  const input = { text: 'The lamp was lit at dusk, and the keeper was content.' };
  return async () => [(await request(instance, 'POST', '/v3/ai/async', { model, input, webhook_receiver })).job_id];
}

async function crews(instance: BenchInstance, crewWebhookUrl: string): Promise<Send> {
  const { key } = await createApiKeys(instance.collections).create({ org: 'bench', kind: 'crew_org', label: 'bench' });
  const inputs = { database: 'bench', topic: 'the lamp' };
  return async () => {
    const caller = { apiUrl: instance.apiUrl, key };
    const kickoff = { inputs, crewWebhookUrl };
    return [(await request(caller, 'POST', '/crews/document-brief/kickoff', kickoff)).kickoff_id];
  };
}
