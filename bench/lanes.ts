import { call } from '../cli/api-client.js';
import { newDeliveryId } from '../domain/ids.js';
import type { NewDelivery } from '../domain/webhooks/deliveries.js';
import { createLaneSwitch, laneOf } from '../domain/webhooks/lanes.js';
import { inTransaction } from '../storage/transactions.js';
import { createDeliveries } from '../storage/webhooks/deliveries.js';
import { createLaneQueue } from '../storage/webhooks/lane-queue.js';
import { createLanes } from '../storage/webhooks/lanes.js';
import { connectTemporal } from '../temporal/connection.js';
import { createStarters } from '../temporal/starters.js';
import { type BenchInstance, startBenchInstance } from './support/instance.js';
import { runConcurrently } from './support/measure.js';
import { startReceiver } from './support/receiver.js';
import { benchDelivery } from './support/records.js';

const LANES = 4;
const OWN_WORKFLOWS = 400;
const BACKLOG = 5_000;
const COMPLETIONS = 2_000;
const GROUP = 50;
const CONCURRENCY = 20;

/**
 * Measures first attempts at the receiver, from the commit that makes the first delivery due to the last request: with a
 * workflow each, and in lanes as a backlog, as completions in groups, and as completions with a transaction each.
 */
export async function lanes(): Promise<void> {
  const instance = await startBenchInstance();
  const temporal = await connectTemporal(instance.temporalAddress, 'default');
  const { collections } = instance;
  const { mongoClient } = collections;
  const starters = createStarters(temporal, undefined, createLanes(collections, createLaneQueue(collections)).flags);
  const stores = {
    own: createDeliveries(collections),
    lanes: createDeliveries(collections, undefined, createLaneSwitch({ lanes: LANES })),
  };
  let received = 0;
  const receiver = await startReceiver(() => {
    received += 1;
    return 204;
  });

  /** Stores deliveries in transactions of so many, and starts them. */
  const complete = (store: keyof typeof stores, count: number, group: number) =>
    runConcurrently(count / group, CONCURRENCY, async () => {
      const added = Array.from({ length: group }, newDelivery);
      const records = await inTransaction(mongoClient, (tx) => stores[store].addAll(added, tx));
      await starters.startDeliveries(records);
    });

  async function measure(name: string, count: number, work: () => Promise<unknown>): Promise<void> {
    const target = received + count;
    const before = await instance.processorTimes();
    const started = performance.now();
    await work();
    while (received < target) await new Promise((resume) => setTimeout(resume, 5));
    const ms = performance.now() - started;
    const after = await instance.processorTimes();
    const cost = Object.entries(after).map(([process, cpu]) => [process, (cpu - before[process]!) / count] as const);
    const sum = cost.reduce((total, [, cpu]) => total + cpu, 0);
    const parts = cost.map(([process, cpu]) => `${process} ${cpu.toFixed(2)}`).join(', ');
    console.log(
      `${name.padEnd(28)} ${(count / (ms / 1000)).toFixed(0).padStart(5)} /s   ${sum.toFixed(2)} ms of CPU each (${parts})`,
    );
  }

  try {
    await call(instance, 'POST', '/webhooks/indexing', { url: receiver.url, generate_signing_secret: true });
    await complete('own', 40, 1);
    await complete('lanes', 200, GROUP);
    while (received < 240) await new Promise((resume) => setTimeout(resume, 20));
    await measure('a workflow each', OWN_WORKFLOWS, () => complete('own', OWN_WORKFLOWS, 1));
    await insertBacklog(instance);
    await measure('backlog, drained', BACKLOG, () => starters.startLane(laneOf('bench', LANES)));
    await measure(`completions, ${GROUP} a time`, COMPLETIONS, () => complete('lanes', COMPLETIONS, GROUP));
    await measure('completions, one a time', COMPLETIONS, () => complete('lanes', COMPLETIONS, 1));
  } finally {
    await receiver.close();
    await temporal.connection.close();
    await instance.stop();
  }
}

async function insertBacklog({ collections }: BenchInstance): Promise<void> {
  const lane = laneOf('bench', LANES);
  const records = Array.from({ length: BACKLOG }, (_, n) => benchDelivery(newDeliveryId(), n, lane));
  await collections.deliveries.insertMany(records, { ordered: false });
}

let next = 0;
function newDelivery(): NewDelivery {
  const _id = newDeliveryId();
  const { payload, indexing_status } = benchDelivery(_id, next++);
  return {
    _id,
    org: 'bench',
    dedupe_key: `item/${_id}/1`,
    event_type: 'indexing.status_changed',
    doc_id: `doc-${next}`,
    indexing_status: indexing_status!,
    payload: payload!,
    now: new Date(),
  };
}
