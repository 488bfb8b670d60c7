import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import { call } from '../cli/api-client.js';
import { newDeliveryId } from '../domain/ids.js';
import { connectTemporal } from '../temporal/connection.js';
import { createStarters } from '../temporal/starters.js';
import { type BenchInstance, startBenchInstance } from './support/instance.js';
import { durationMs, perSecond, runConcurrently } from './support/measure.js';
import { type CountingReceiver, startCountingReceiver } from './support/receiver.js';
import { benchDelivery } from './support/records.js';
import { createDatabase, ingestMemories } from './support/work.js';

const WORKFLOWS = 400;
const ITEMS = 100;
const LARGE_INGEST = 1_000;
/** Workflows started at the same time; more would only queue in the server. */
const CONCURRENCY = 50;

/** Measures bare workflows, deliveries and items per second in one run. */
export async function throughput(): Promise<void> {
  const instance = await startBenchInstance();
  const temporal = await connectTemporal(instance.temporalAddress, 'default');
  const receiver = await startCountingReceiver();
  try {
    await call(instance, 'POST', '/webhooks/indexing', { url: receiver.url, generate_signing_secret: true });
    await createDatabase(instance, 'bench');
    await measureDeliveries(instance, temporal, 40); // Warm-up: connections, bundles, caches.
    const bareRate = await measureBare(instance, temporal);
    const deliveryRate = await measureDeliveries(instance, temporal, WORKFLOWS);
    const itemRate = await measureItems(instance, receiver, ITEMS);
    const before = instance.peakMemory();
    const ingest = await measureLargeIngest(instance, receiver);
    const peak = instance.peakMemory();
    console.log(`
bare workflows       ${bareRate.toFixed(1)} /s   (limit: one activity that does nothing)
deliveries           ${deliveryRate.toFixed(1)} /s   ratio to bare ${(deliveryRate / bareRate).toFixed(2)}
items of 2 KB        ${itemRate.toFixed(1)} /s   ratio to bare ${(itemRate / bareRate).toFixed(2)}   (from ingest to received webhook)
ingest of ${LARGE_INGEST} items  response after ${ingest.responseMs.toFixed(0)} ms; all webhooks after ${(ingest.webhooksMs / 1000).toFixed(0)} s (${(LARGE_INGEST / (ingest.webhooksMs / 1000)).toFixed(1)} /s)
peak memory          API ${peak.api} MiB, worker ${peak.worker} MiB   (before the large ingest: ${before.api}, ${before.worker})
`);
  } finally {
    await receiver.close();
    await temporal.connection.close();
    await instance.stop();
  }
}

/**
 * Runs workflows with one activity that does nothing, on a worker with the delivery worker's concurrency.
 * @returns workflows per second
 */
export async function measureBare(instance: BenchInstance, temporal: Client): Promise<number> {
  const worker = fork(fileURLToPath(new URL('./support/bare-worker.js', import.meta.url)), { env: instance.env });
  await once(worker, 'message');
  const run = (n: number) =>
    temporal.workflow.execute('bare', { taskQueue: 'bare', workflowId: `bare/${process.pid}/${n}`, args: [] });
  await runConcurrently(20, CONCURRENCY, (n) => run(-1 - n));
  const rate = await perSecond(WORKFLOWS, () => runConcurrently(WORKFLOWS, CONCURRENCY, run));
  worker.disconnect();
  await once(worker, 'exit');
  return rate;
}

async function measureDeliveries(instance: BenchInstance, temporal: Client, count: number): Promise<number> {
  const starters = createStarters(temporal);
  const records = Array.from({ length: count }, (_, n) => benchDelivery(newDeliveryId(), n));
  await instance.collections.deliveries.insertMany(records);
  return perSecond(count, () =>
    runConcurrently(count, CONCURRENCY, async (n) => {
      const record = records[n]!;
      await starters.startDelivery(record);
      await temporal.workflow.getHandle(`delivery/${record._id}`).result();
    }),
  );
}

async function measureItems(instance: BenchInstance, receiver: CountingReceiver, count: number): Promise<number> {
  const target = receiver.count() + count;
  return perSecond(count, async () => {
    await ingestMemories(instance, 'bench', `warm-${Date.now()}`, count);
    await receiver.reached(target);
  });
}

async function measureLargeIngest(instance: BenchInstance, receiver: CountingReceiver) {
  const target = receiver.count() + LARGE_INGEST;
  const responseMs = await durationMs(() => ingestMemories(instance, 'bench', `large-${Date.now()}`, LARGE_INGEST));
  const remainingMs = await durationMs(() => receiver.reached(target));
  return { responseMs, webhooksMs: responseMs + remainingMs };
}
