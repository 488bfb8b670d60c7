import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import { newDeliveryId } from '../domain/ids.js';
import { connectTemporal } from '../temporal/connection.js';
import { createStarters, type Starters } from '../temporal/starters.js';
import { type ApiAccess, call, request } from './support/api-client.js';
import { createCompletions } from './support/completions.js';
import { BENCH_CREWS, type BenchCrew, writeCrews } from './support/crews.js';
import { type BenchInstance, startBenchInstance } from './support/instance.js';
import { type Cost, createMeter } from './support/meter.js';
import { startReceiver } from './support/receiver.js';
import { benchDelivery } from './support/records.js';
import { type Figure, printFigures, writeResult } from './support/results.js';
import {
  createDatabase,
  ingest,
  ingestMemories,
  memoryText,
  noteText,
  proseText,
  submitShortJob,
} from './support/work.js';

/** Repetitions of each kind of work. */
const REPETITIONS = 200;
/** Deliveries without workflows, and those in a transaction: as many as the end of a group of items commits. */
const UNFOLLOWED = { deliveries: 1_000, group: 50 };
/** Repetitions of slow work; the counts hardly differ between repetitions. */
const FEW_REPETITIONS = 50;
/** As many retries as the product makes, with short delays. */
const SCHEDULE_MS = Array.from({ length: 7 }, () => 2_000);
const GUIDES = fileURLToPath(new URL('../../docs/', import.meta.url));
/** Characters of a section of the guides that is ingested as a file: prose of about 1.1 KB. */
const SECTION = { min: 600, max: 1_600 };
/** Copies of a delivered record, to measure its size on disk. */
const COPIES = 100_000;
const INSERT_BATCH = 10_000;

/** Measures what one delivery, item, AI job and crew costs Temporal and MongoDB. docs/scaling.md is derived from it. */
export async function footprint(): Promise<void> {
  const crews = mkdtempSync(join(tmpdir(), 'postback-bench-crews-'));
  writeCrews(crews);
  const instance = await startBenchInstance({
    POSTBACK_CREWS_DIR: crews,
    POSTBACK_DELIVERY_SCHEDULE_MS: SCHEDULE_MS.join(','),
    // The reconciler must not add to the costs.
    POSTBACK_RECONCILE_SECONDS: String(24 * 60 * 60),
  });
  const temporal = await connectTemporal(instance.temporalAddress, 'default');
  const receiver = await startRejectingReceiver();
  const groups: Record<string, Figure[]> = {};
  const show = (title: string, cost: Cost) => {
    groups[title] = figuresOf(cost);
    print(title, cost);
  };
  try {
    const { cost } = createMeter(instance, temporal);
    const starters = createStarters(temporal);
    await createDatabase(instance, 'bench');

    const item = (name: string) => (n: number) => ingestMemories(instance, 'bench', `${name}-${n}`, 1);
    await cost(10, 'indexItems', item('warm-up'));
    show('item, a memory of 2 KB', await cost(FEW_REPETITIONS, 'indexItems', item('memory')));
    show('item, a file of 1.1 KB of prose', await cost(FEW_REPETITIONS, 'indexItems', ingestFile(instance)));
    show('item, one of 100 in a request', await cost(100, null, hundred(instance, 'memories', memoryText)));
    show('note of five words, one of 100 in a request', await cost(100, null, hundred(instance, 'notes', noteText)));
    const abstractText = (n: number) => proseText(n, 1_000);
    show(
      'abstract of 1,000 characters, one of 100 in a request',
      await cost(100, null, hundred(instance, 'abstracts', abstractText)),
    );

    await call(instance, 'POST', '/webhooks/indexing', { url: receiver.url, generate_signing_secret: true });
    const deliver = deliverySender(instance, starters);
    show('delivery at once', await cost(REPETITIONS, 'deliverWebhook', deliver));
    for (const rejections of [1, 2, SCHEDULE_MS.length + 1]) {
      receiver.rejectFirst(rejections);
      show(`delivery, rejected ${rejections} times`, await cost(FEW_REPETITIONS, 'deliverWebhook', deliver));
    }
    receiver.rejectFirst(0);
    const { deliveries, group } = UNFOLLOWED;
    show(
      'delivery without a workflow',
      await cost(deliveries, null, unfollowed(instance, temporal, deliveries, group)),
    );
    groups['delivery record on disk'] = await measureOnDisk(instance);

    show('AI job', await cost(REPETITIONS, 'runAiJobs', () => submitShortJob(instance)));
    const access = { apiUrl: instance.apiUrl, key: await instance.createKey('crew_org') };
    for (const crew of BENCH_CREWS) {
      show(`crew ${crew}`, await cost(FEW_REPETITIONS, 'runCrew', () => runCrew(access, crew)));
    }
    writeResult('footprint', '', groups);
  } finally {
    await receiver.close();
    await temporal.connection.close();
    await instance.stop();
    rmSync(crews, { recursive: true, force: true });
  }
}

function ingestFile(instance: BenchInstance) {
  const pages = guideSections();
  return async (n: number) => {
    const form = new FormData();
    form.set('database', 'bench');
    form.set('documents', new Blob([`${pages[n % pages.length]}\nCopy ${n}.\n`]), `page-${n}.md`);
    await call(instance, 'POST', '/context/ingest', form);
  };
}

/** @returns sections of the guides of about the same size */
function guideSections(): string[] {
  return readdirSync(GUIDES)
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) => readFileSync(join(GUIDES, name), 'utf8').split(/^(?=## )/m))
    .filter(({ length }) => length >= SECTION.min && length <= SECTION.max);
}

/** Ingests 100 texts in one request, and waits until they are completed. */
function hundred(instance: BenchInstance, prefix: string, textOf: (n: number) => string) {
  return async (n: number) => {
    if (n > 0) return;
    const entries = Array.from({ length: 100 }, (_, at) => ({ id: `${prefix}-${at}`, text: textOf(at) }));
    await ingest(instance, 'bench', 'memories', entries);
    const completed = { id: { $in: entries.map(({ id }) => id) }, indexing_status: 'completed' } as const;
    while ((await instance.collections.items.countDocuments(completed)) < 100) await wait(100);
  };
}

/**
 * Stores a delivery and starts its workflow, as the completion of an item does. The insert counts as part of its cost.
 */
function deliverySender({ collections }: BenchInstance, starters: Starters) {
  return async (n: number) => {
    const record = benchDelivery(newDeliveryId(new Date()), n);
    await collections.deliveries.insertOne(record);
    await starters.startDelivery(record);
  };
}

/** Commits so many deliveries in groups, and waits until they are delivered. */
function unfollowed(instance: BenchInstance, temporal: Client, count: number, group: number) {
  const completions = createCompletions(instance, temporal);
  const delivered = () => instance.collections.deliveries.countDocuments({ status: 'delivered' });
  return async (n: number) => {
    if (n > 0) return;
    const target = (await delivered()) + count;
    await completions.many('product', count, group);
    while ((await delivered()) < target) await wait(100);
  };
}

/** Starts an execution; approves the task of the crew `with-person`. */
async function runCrew(access: ApiAccess, crew: BenchCrew): Promise<void> {
  const topic = crew === 'with-tool' ? 'bench' : 'The lamp was lit at dusk. The keeper was content.';
  const { kickoff_id } = await request(access, 'POST', `/crews/${crew}/kickoff`, { inputs: { topic } });
  if (crew !== 'with-person') return;
  const status = () => request(access, 'GET', `/crews/${crew}/${kickoff_id}/status`);
  while ((await status()).status !== 'pending_human_input') await wait(100);
  const approval = { execution_id: kickoff_id, task_id: 'first', human_feedback: 'Good.', is_approve: true };
  await request(access, 'POST', `/crews/${crew}/resume`, approval);
}

/** A receiver that rejects each delivery so many times with 503 before it accepts it. */
async function startRejectingReceiver() {
  let rejections = 0;
  const attempts = new Map<string, number>();
  const receiver = await startReceiver((_body, headers) => {
    const id = String(headers['x-service-delivery-id']);
    const attempt = (attempts.get(id) ?? 0) + 1;
    attempts.set(id, attempt);
    return attempt > rejections ? 204 : 503;
  });
  return {
    ...receiver,
    /** Applies to the deliveries that follow. */
    rejectFirst(times: number): void {
      rejections = times;
    },
  };
}

/** The size of a delivered record: as BSON, compressed on disk, and of its indexes. */
async function measureOnDisk({ collections }: BenchInstance): Promise<Figure[]> {
  const delivered = (await collections.deliveries.findOne({ status: 'delivered' }))!;
  const copies = collections.db.collection<typeof delivered>('deliveries');
  for (let from = 0; from < COPIES; from += INSERT_BATCH) {
    const batch = Array.from({ length: INSERT_BATCH }, (_, n) => {
      const _id = newDeliveryId(new Date());
      return { ...delivered, _id, dedupe_key: `item/${_id}/1`, doc_id: `doc-${from + n}` };
    });
    await copies.insertMany(batch, { ordered: false });
  }
  await collections.mongoClient.db('admin').command({ fsync: 1 });
  const { count, size, storageSize, totalIndexSize } = await collections.db.command({ collStats: 'deliveries' });
  const figures = Object.entries({ BSON: size, data: storageSize, indexes: totalIndexSize }).map(([name, bytes]) => ({
    name,
    value: bytes / count,
    unit: 'bytes',
  }));
  printFigures(`${count} delivery records, each`, figures);
  return figures;
}

/** What docs/scaling.md calculates with. */
function figuresOf({ workflows, counters }: Cost): Figure[] {
  const sum = (pattern: RegExp) =>
    Object.entries(counters).reduce((total, [name, value]) => (pattern.test(name) ? total + value : total), 0);
  const ofWorkflows = (field: 'events' | 'historyBytes') =>
    Object.values(workflows).reduce((total, each) => total + each[field], 0);
  const figure = (name: string, value: number, unit = '') => ({ name, value, unit });
  return [
    figure('history events', ofWorkflows('events')),
    figure('history', ofWorkflows('historyBytes'), 'bytes'),
    figure('requests to Temporal', sum(/^temporal\./)),
    figure('writes of Temporal', sum(/^persistence\.(Create|Update)WorkflowExecution$/)),
    figure('its visibility writes', sum(/^visibility\.(Record|Upsert)/)),
    figure('MongoDB writes', sum(/^mongodb\.(insert|update|delete|findAndModify)$/)),
    figure('oplog', counters['bytes.oplog'] ?? Number.NaN, 'bytes'),
    figure('kept in MongoDB', sum(/^bytes\.(?!oplog$)/), 'bytes'),
  ];
}

function print(title: string, { workflows, counters }: Cost): void {
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
