import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import { newDeliveryId } from '../domain/ids.js';
import { connectTemporal } from '../temporal/connection.js';
import { createStarters } from '../temporal/starters.js';
import { call, ingestMemories, provision } from './api-client.js';
import { pendingBenchDelivery } from './delivery-record.js';
import { type BenchInstance, startBenchInstance } from './instance.js';
import { sideBySide } from './side-by-side.js';

const WORKFLOWS = 400;
const ITEMS = 100;
const LARGE_INGEST = 1_000;
/** Starts under way at once; more only queue in the server. */
const CONCURRENCY = 50;

/** Bare workflows, deliveries and items a second, side by side in one run. */
export async function throughput(): Promise<void> {
  const instance = await startBenchInstance();
  const temporal = await connectTemporal(instance.temporalAddress, 'default');
  const receiver = await startCountingReceiver();
  try {
    await call(instance, 'POST', '/webhooks/indexing', { url: receiver.url, generate_signing_secret: true });
    await provision(instance, 'bench');
    await measureDeliveries(instance, temporal, 40); // Warm: connections, bundles, caches.
    const bareRate = await measureBare(instance, temporal);
    const deliveryRate = await measureDeliveries(instance, temporal, WORKFLOWS);
    const itemRate = await measureItems(instance, receiver, ITEMS);
    const before = instance.peakMemory();
    const ingest = await measureLargeIngest(instance, receiver);
    const peak = instance.peakMemory();
    console.log(`
bare workflows       ${bareRate.toFixed(1)} /s   (limit: one activity that does nothing)
deliveries           ${deliveryRate.toFixed(1)} /s   ratio to bare ${(deliveryRate / bareRate).toFixed(2)}
items of 2 KB        ${itemRate.toFixed(1)} /s   ratio to bare ${(itemRate / bareRate).toFixed(2)}   (ingest to received webhook)
ingest of ${LARGE_INGEST} items  answered in ${ingest.answeredMs.toFixed(0)} ms; all announced after ${(ingest.announcedMs / 1000).toFixed(0)} s (${(LARGE_INGEST / (ingest.announcedMs / 1000)).toFixed(1)} /s)
memory at its peak   API ${peak.api} MiB, worker ${peak.worker} MiB   (before the large ingest: ${before.api}, ${before.worker})
`);
  } finally {
    await receiver.close();
    await temporal.connection.close();
    await instance.stop();
  }
}

/** Workflows a second with one activity that does nothing, on a worker tuned as the delivery worker is. */
export async function measureBare(instance: BenchInstance, temporal: Client): Promise<number> {
  const worker = fork(fileURLToPath(new URL('./bare-worker.js', import.meta.url)), { env: instance.env });
  await once(worker, 'message');
  const run = (n: number) =>
    temporal.workflow.execute('bare', { taskQueue: 'bare', workflowId: `bare/${process.pid}/${n}`, args: [] });
  await sideBySide(20, CONCURRENCY, (n) => run(-1 - n));
  const rate = await timed(WORKFLOWS, () => sideBySide(WORKFLOWS, CONCURRENCY, run));
  worker.disconnect();
  await once(worker, 'exit');
  return rate;
}

async function measureDeliveries(instance: BenchInstance, temporal: Client, count: number): Promise<number> {
  const starters = createStarters(temporal);
  const records = Array.from({ length: count }, (_, n) => pendingBenchDelivery(newDeliveryId(), n));
  await instance.collections.deliveries.insertMany(records);
  return timed(count, () =>
    sideBySide(count, CONCURRENCY, async (n) => {
      const record = records[n]!;
      await starters.startDelivery(record);
      await temporal.workflow.getHandle(`delivery/${record._id}`).result();
    }),
  );
}

async function measureItems(instance: BenchInstance, receiver: CountingReceiver, count: number): Promise<number> {
  const target = receiver.count() + count;
  return timed(count, async () => {
    await ingestMemories(instance, 'bench', `warm-${Date.now()}`, count);
    await receiver.reached(target);
  });
}

async function measureLargeIngest(instance: BenchInstance, receiver: CountingReceiver) {
  const target = receiver.count() + LARGE_INGEST;
  const started = performance.now();
  await ingestMemories(instance, 'bench', `large-${Date.now()}`, LARGE_INGEST);
  const answeredMs = performance.now() - started;
  await receiver.reached(target);
  return { answeredMs, announcedMs: performance.now() - started };
}

/** @returns how many a second */
async function timed(count: number, work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return count / ((performance.now() - started) / 1000);
}

interface CountingReceiver {
  url: string;
  count(): number;
  reached(target: number): Promise<void>;
  close(): Promise<void>;
}

async function startCountingReceiver(): Promise<CountingReceiver> {
  let count = 0;
  let waiting: { target: number; done: () => void } | undefined;
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      count += 1;
      response.writeHead(204).end();
      if (waiting && count >= waiting.target) waiting.done();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    count: () => count,
    reached: (target) =>
      new Promise((done) => {
        if (count >= target) done();
        else waiting = { target, done };
      }),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
