import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { call, request } from './support/api-client.js';
import { type BenchInstance, startBenchInstance } from './support/instance.js';
import { startReceiver } from './support/receiver.js';
import { createDatabase, ingest, submitShortJob } from './support/work.js';

const MINUTES = 2;
/** Time between two kills in milliseconds: at least `min`, plus a random part of at most `random`. */
const PAUSE = { min: 2_000, random: 6_000 };
const CLIENTS = 4;
const ITEMS_PER_REQUEST = 4;
/** How long to wait for the work that is not finished when the load ends. A timeout or the reconciler restarts it. */
const COMPLETION_TIMEOUT_MS = 15 * 60_000;
/** Every so many callbacks, the receiver rejects the first attempt. */
const REJECT_EVERY = 5;

/**
 * Sends some work.
 * @returns the ids whose callback the API has accepted to send
 * @throws Error when it accepted nothing
 */
type Send = () => Promise<string[]>;

/**
 * Kills the API and the worker process at random while work arrives, and then counts callbacks: everything that was
 * accepted must send its callback.
 * @throws Error with the ids that sent none
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
    await createDatabase(instance, 'bench');
    const kinds: Record<string, Send> = {
      items: () => sendItems(instance),
      'AI jobs': async () => [await submitShortJob(instance, receiver.url)],
      crews: await crewSender(instance, receiver.url),
    };
    const until = Date.now() + MINUTES * 60_000;
    const [kills, ...accepted] = await Promise.all([
      killAtRandom(instance, until),
      ...Object.values(kinds).map((send) => sendUntil(send, until)),
    ]);
    const counts = Object.keys(kinds).map((kind, at) => `${accepted[at]!.length} ${kind}`);
    console.log(`killed     API ${kills.api} times, worker ${kills.worker} times, in ${MINUTES} minutes`);
    console.log(`accepted   ${counts.join(', ')}`);
    const expected = accepted.flat();
    const missing = () => expected.filter((id) => !receiver.received.has(id));
    const deadline = Date.now() + COMPLETION_TIMEOUT_MS;
    while (missing().length > 0 && Date.now() < deadline) await wait(500);
    const lost = missing();
    const repeated = expected.filter((id) => (receiver.received.get(id) ?? 0) > 1);
    console.log(
      `received   ${expected.length - lost.length} callbacks, ${receiver.rejected.size} of them rejected at first`,
    );
    console.log(`repeated   ${repeated.length}, because a process died between sending and recording`);
    if (lost.length > 0) throw new Error(`callbacks never received: ${lost.join(', ')}`);
  } finally {
    await receiver.close();
    await instance.stop();
  }
}

async function killAtRandom(instance: BenchInstance, until: number): Promise<{ api: number; worker: number }> {
  const kills = { api: 0, worker: 0 };
  for (;;) {
    await wait(PAUSE.min + Math.random() * PAUSE.random);
    if (Date.now() >= until) return kills;
    const name = Math.random() < 0.5 ? 'api' : 'worker';
    if (instance.kill(name)) kills[name] += 1;
  }
}

/** Runs several clients of one kind of work, each with one request at a time. @returns all accepted ids */
async function sendUntil(send: Send, until: number): Promise<string[]> {
  const accepted: string[] = [];
  const client = async () => {
    while (Date.now() < until) {
      // A request that was rejected, or cut off before its response, was not accepted.
      accepted.push(...(await send().catch(() => [])));
      await wait(Math.random() * 500);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return accepted;
}

async function sendItems(instance: BenchInstance): Promise<string[]> {
  const memories = Array.from({ length: ITEMS_PER_REQUEST }, () => {
    const id = randomUUID();
    return { id, text: `The keeper made a note about the lamp; it has the number ${id}.` };
  });
  await ingest(instance, 'bench', 'memories', memories);
  return memories.map(({ id }) => id);
}

async function crewSender(instance: BenchInstance, crewWebhookUrl: string): Promise<Send> {
  const access = { apiUrl: instance.apiUrl, key: await instance.createKey('crew_org') };
  const kickoff = { inputs: { database: 'bench', topic: 'the lamp' }, crewWebhookUrl };
  return async () => [(await request(access, 'POST', '/crews/document-brief/kickoff', kickoff)).kickoff_id];
}

/** A receiver for every kind of callback. It counts them by the id of the item, job or execution. */
async function startRecordingReceiver() {
  const received = new Map<string, number>();
  const rejected = new Set<string>();
  let seen = 0;
  const receiver = await startReceiver((body) => {
    const callback = JSON.parse(body.toString()) as { id?: string; job_id?: string; execution_id?: string };
    const id = callback.id ?? callback.job_id ?? callback.execution_id!;
    if (!received.has(id) && !rejected.has(id) && seen++ % REJECT_EVERY === 0) {
      rejected.add(id);
      return 503;
    }
    received.set(id, (received.get(id) ?? 0) + 1);
    return 204;
  });
  return { ...receiver, received, rejected };
}
