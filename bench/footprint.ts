import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { newDeliveryId } from '../domain/ids.js';
import { createApiKeys } from '../storage/api-keys.js';
import { connectTemporal } from '../temporal/connection.js';
import { createStarters, type Starters } from '../temporal/starters.js';
import { call, ingestMemories, provision, request } from './api-client.js';
import { pendingBenchDelivery } from './delivery-record.js';
import { type FootprintCrew, writeCrews } from './footprint-crews.js';
import { type BenchInstance, startBenchInstance } from './instance.js';
import { type Cost, createMeter } from './meter.js';
import { startReluctantReceiver } from './reluctant-receiver.js';

const PIECES = 200;
/** Of what takes longer; what is counted hardly differs from one to the next. */
const LONG_PIECES = 50;
/** As many retries as the product makes, with waits that end while one looks on. */
const SCHEDULE_MS = Array.from({ length: 7 }, () => 2_000);
/** Prose, about 1.1 KB a file. */
const PAGES = fileURLToPath(new URL('../../docs/decisions/', import.meta.url));
/** Copies of a delivered record, to see what it takes on disk. */
const COPIES = 100_000;
const COPIES_AT_ONCE = 10_000;

/** What one delivery, item, AI job and crew costs Temporal and MongoDB; the arithmetic of growth stands on these figures. */
export async function footprint(): Promise<void> {
  const crews = mkdtempSync(join(tmpdir(), 'postback-bench-crews-'));
  writeCrews(crews);
  const instance = await startBenchInstance({
    POSTBACK_CREWS_DIR: crews,
    POSTBACK_DELIVERY_SCHEDULE_MS: SCHEDULE_MS.join(','),
    // Nothing but what is measured.
    POSTBACK_RECONCILE_SECONDS: String(24 * 60 * 60),
  });
  const temporal = await connectTemporal(instance.temporalAddress, 'default');
  const receiver = await startReluctantReceiver();
  try {
    const { cost } = createMeter(instance, temporal);
    const starters = createStarters(temporal);
    await provision(instance, 'bench');

    const item = (name: string) => (n: number) => ingestMemories(instance, 'bench', `${name}-${n}`, 1);
    await cost(10, 'indexItem', item('warm'));
    show('item, a memory of 2 KB', await cost(LONG_PIECES, 'indexItem', item('memory')));
    show('item, a file of 1.1 KB of prose', await cost(LONG_PIECES, 'indexItem', ingestFile(instance)));
    const hundred = () => ingestMemories(instance, 'bench', 'hundred', 100);
    show(
      'item, one of 100 in a request',
      await cost(100, 'indexItem', (n) => (n === 0 ? hundred() : Promise.resolve())),
    );

    await call(instance, 'POST', '/webhooks/indexing', { url: receiver.url, generate_signing_secret: true });
    const deliver = announce(instance, starters);
    show('delivery at once', await cost(PIECES, 'deliverWebhook', deliver));
    for (const refusals of [1, 2, SCHEDULE_MS.length + 1]) {
      receiver.refuse(refusals);
      show(`delivery, refused ${refusals} times`, await cost(LONG_PIECES, 'deliverWebhook', deliver));
    }
    await showOnDisk(instance);

    show('AI job', await cost(PIECES, 'runAiJob', submitJob(instance)));
    const { key } = await createApiKeys(instance.collections).create({
      org: 'bench',
      kind: 'crew_org',
      label: 'bench',
    });
    for (const crew of ['one-task', 'two-tasks', 'with-tool', 'with-person'] as const) {
      show(`crew ${crew}`, await cost(LONG_PIECES, 'runCrew', execute({ ...instance, key }, crew)));
    }
  } finally {
    await receiver.close();
    await temporal.connection.close();
    await instance.stop();
    rmSync(crews, { recursive: true, force: true });
  }
}

function ingestFile(instance: BenchInstance) {
  const pages = readdirSync(PAGES).map((name) => readFileSync(join(PAGES, name), 'utf8'));
  return async (n: number) => {
    const form = new FormData();
    form.set('database', 'bench');
    form.set('documents', new Blob([`${pages[n % pages.length]}\nCopy ${n}.\n`]), `page-${n}.md`);
    await call(instance, 'POST', '/context/ingest', form);
  };
}

/** A delivery as the end of an item leaves it: on record, and its workflow started. The record's insert is counted with it. */
function announce({ collections }: BenchInstance, starters: Starters) {
  return async (n: number) => {
    const record = pendingBenchDelivery(newDeliveryId(), n);
    await collections.deliveries.insertOne(record);
    await starters.startDelivery(record);
  };
}

function submitJob(instance: BenchInstance) {
  const input = { text: 'The lamp was lit at dusk, and the keeper was content.' };
  return () => request(instance, 'POST', '/v3/ai/async', { model: 'text/language_detection/eld', input });
}

function execute(instance: BenchInstance, crew: FootprintCrew) {
  return async () => {
    const topic = crew === 'with-tool' ? 'bench' : 'The lamp was lit at dusk. The keeper was content.';
    const { kickoff_id } = await request(instance, 'POST', `/crews/${crew}/kickoff`, { inputs: { topic } });
    if (crew !== 'with-person') return;
    const status = () => request(instance, 'GET', `/crews/${crew}/${kickoff_id}/status`);
    while ((await status()).status !== 'pending_human_input') await wait(100);
    const answer = { execution_id: kickoff_id, task_id: 'first', human_feedback: 'Good.', is_approve: true };
    await request(instance, 'POST', `/crews/${crew}/resume`, answer);
  };
}

/** What the storage engine makes of a delivered record: compressed, and with its indexes. */
async function showOnDisk({ collections }: BenchInstance): Promise<void> {
  const delivered = (await collections.deliveries.findOne({ status: 'delivered' }))!;
  const copies = collections.db.collection<typeof delivered>('deliveries');
  for (let from = 0; from < COPIES; from += COPIES_AT_ONCE) {
    const batch = Array.from({ length: COPIES_AT_ONCE }, (_, n) => {
      const _id = newDeliveryId();
      return { ...delivered, _id, dedupe_key: `item/${_id}/1`, doc_id: `doc-${from + n}` };
    });
    await copies.insertMany(batch, { ordered: false });
  }
  await collections.mongoClient.db('admin').command({ fsync: 1 });
  const { count, size, storageSize, totalIndexSize } = await collections.db.command({ collStats: 'deliveries' });
  const each = (bytes: number) => (bytes / count).toFixed(0);
  console.log(
    `delivery records kept: ${count}, each ${each(size)} bytes of BSON, on disk ${each(storageSize)} and ${each(totalIndexSize)} of indexes\n`,
  );
}

function show(title: string, { workflows, counters }: Cost): void {
  console.log(title);
  for (const [type, { number, events, historyBytes }] of Object.entries(workflows)) {
    const each = `${(events / number).toFixed(1)} events, ${(historyBytes / number).toFixed(0)} bytes`;
    console.log(`  workflow     ${number.toFixed(2)} ${type} of ${each}`);
  }
  for (const group of ['temporal', 'persistence', 'visibility', 'mongodb', 'documents', 'bytes', 'cpu']) {
    const values = Object.entries(counters)
      .filter(([name, value]) => name.startsWith(`${group}.`) && Math.abs(value) >= 0.05)
      .sort(([, a], [, b]) => b - a)
      .map(([name, value]) => `${name.slice(group.length + 1)} ${value.toFixed(group === 'bytes' ? 0 : 2)}`);
    console.log(`  ${group.padEnd(12)} ${values.join(', ') || '-'}`);
  }
  console.log();
}
