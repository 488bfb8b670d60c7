import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { DeliveryRecord } from '../storage/webhooks/deliveries.js';
import { scanJob } from './ai-jobs/work-in-progress.js';
import { sync } from './connectors/work-in-progress.js';
import { lostItem, scannedItem, tenItems } from './content/work-in-progress.js';
import { modelCall } from './crews/work-in-progress.js';
import { scan, scannedPdf } from './fixtures/scanned-files.js';
import { killChildren } from './support/child-processes.js';
import type { Client } from './support/client.js';
import { type CrashProduct, type InterruptedWork, startCrashProduct } from './support/crash-product.js';
import { type CrewClient, createCrewClient } from './support/crew-client.js';
import { eventually } from './support/eventually.js';
import { clientOf, registeredReceiver } from './support/organisation.js';
import { makeKey, withDb } from './support/product.js';
import type { Receiver } from './support/receiver.js';
import { aiJobRecord, deliveryRecord } from './support/records.js';

// Kills processes, so it starts its own product, and only one: a killed worker's activities wait for their heartbeat
// timeouts all at the same time.
describe('crashes lose nothing', () => {
  const org = 'recovery';
  let own: CrashProduct;
  let api: Client;
  let receiver: Receiver;

  beforeAll(async () => {
    own = await startCrashProduct();
    api = await clientOf(org, own.product);
    receiver = await registeredReceiver(api);
    await api.createDatabase('crash');
  });
  afterAll(async () => {
    await receiver?.close();
    await own?.remove();
  });

  test('a file whose parser is killed three times ends with E2003; the worker and its other work are not affected', async () => {
    const client = await clientOf('parser-killed', own.product);
    const webhooks = await registeredReceiver(client);
    await client.createDatabase('crash');
    const worker = own.product.worker.pid();
    const page = await scan(['This page ends its process', 'The lamp was lit at dusk']);
    const file = { name: 'log.pdf', content: scannedPdf(Array(3).fill(page)) };
    await client.ingest({ database: 'crash', document_metadata: '[{"id":"poison"}]' }, [file]);
    const killing = new AbortController();
    const killed = killChildren(worker, 'page-worker', killing.signal);
    await client.ingest({ database: 'crash', memories: '[{"id":"beside","text":"A note beside it."}]' });
    expect(await client.ended('crash', 'beside')).toMatchObject({ indexing_status: 'completed' });
    expect(await client.ended('crash', 'poison')).toMatchObject({ indexing_status: 'errored', error_code: 'E2003' });
    killing.abort();
    expect(await killed).toBeGreaterThanOrEqual(3);
    await webhooks.waitFor('the webhook', ({ json }) => json.id === 'poison' && json.error_code === 'E2003');
    await webhooks.close();
    expect(own.product.worker.pid()).toBe(worker);
  });

  describe('kill -9 of the worker', () => {
    let works: Record<'ten' | 'scan' | 'job' | 'call' | 'sync' | 'lost', InterruptedWork>;

    beforeAll(async () => {
      works = {
        ten: tenItems(own),
        scan: scannedItem(own),
        job: scanJob(own),
        call: modelCall(own),
        sync: sync(own),
        lost: lostItem(own),
      };
      // Work that can be held is started first, and work that finishes quickly is started last.
      for (const stage of [[works.call, works.sync], [works.scan, works.job, works.lost], [works.ten]])
        await Promise.all(stage.map((work) => work.begin()));
      process.kill(own.product.worker.pid(), 'SIGKILL');
      for (const work of Object.values(works)) await work.afterKill?.();
    });

    test('during an item that has lost its worker three times before: it completes', () =>
      works.lost.expectToComplete());
    test('during ten items: all ten complete, each with a webhook', () => works.ten.expectToComplete());
    test('during a scanned PDF: the item continues after the pages that were read', () =>
      works.scan.expectToComplete());
    test('during a scan by a job: the job continues after the pages that were read', () =>
      works.job.expectToComplete());
    test('during a model call: finished steps are not repeated', () => works.call.expectToComplete());
    test('during a sync: it continues in another worker and ingests each page once', () =>
      works.sync.expectToComplete());
  });

  test('kill -9 of the embedding process while items and a query wait for it: it starts again, and all complete', async () => {
    const client = await clientOf('embedder-killed', own.product);
    await client.createDatabase('crash');
    const embedder = own.product.embedder!;
    const killed = embedder.pid();
    // Stopped, it accepts texts and cannot finish them before it is killed.
    process.kill(killed, 'SIGSTOP');
    const memories = Array.from({ length: 40 }, (_, n) => ({ id: `note-${n}`, text: `The lamp was lit on day ${n}.` }));
    await client.ingest({ database: 'crash', memories: JSON.stringify(memories) });
    await eventually('work in progress', async () => {
      const { data } = (await client.get('/context/status?database=crash&ids=note-0')).body;
      return data.statuses[0].indexing_status !== 'queued';
    });
    const query = client.post('/query', { database: 'crash', query: 'When was the lamp lit?' });
    process.kill(killed, 'SIGKILL');
    expect((await query).status).toBe(200);
    for (const { id } of memories) {
      expect(await client.ended('crash', id)).toMatchObject({ indexing_status: 'completed' });
    }
    expect(embedder.pid()).not.toBe(killed);
  });

  test('kill -9 of the API right after its response loses no item of a large request', async () => {
    const text = 'The keeper lit the lamp in the evening.';
    const memories = Array.from({ length: 40 }, (_, n) => ({ id: `api-killed-${n}`, text: `Note ${n}. ${text}` }));
    const response = await api.ingest({ database: 'crash', memories: JSON.stringify(memories) });
    expect(response.body.data.success_count).toBe(40);
    process.kill(own.product.api.pid(), 'SIGKILL');
    await eventually('forty webhooks', () => new Set(receiver.received.map(({ json }) => json.id)).size === 40);
  });

  describe('a process that died before it started a workflow', () => {
    /** An item as an ingest request stores it. */
    const itemOf = (databaseId: string, id: string, indexing_status: string, check_at: Date) => ({
      _id: `itm_${id}`,
      org,
      database_id: databaseId,
      database: 'crash',
      collection: 'default',
      id,
      type: 'memory',
      version: 1,
      title: null,
      source: { kind: 'text', text: 'Nobody started me.' },
      metadata: {},
      additional_metadata: {},
      batch: `bat_${id}`,
      indexing_status,
      error_code: null,
      error_message: null,
      check_at,
      created_at: check_at,
      updated_at: check_at,
    });

    beforeAll(() => eventually('the API is back', async () => (await fetch(`${own.product.apiUrl}/healthz`)).ok));

    test('the reconciler starts the workflows of items and deliveries', async () => {
      const now = new Date();
      await withDb(own.product.mongodbUri, async (db) => {
        const database = await db.collection('databases').findOne({ org });
        await db.collection<{ _id: string }>('items').insertOne(itemOf(String(database!._id), 'orphan', 'queued', now));
        await db.collection<{ _id: string }>('deliveries').insertOne(deliveryRecord({ _id: 'dlv_orphan', org, now }));
      });
      await receiver.waitFor('the delivery', ({ json }) => json.delivery_id === 'dlv_orphan');
      expect(await api.ended('crash', 'orphan')).toMatchObject({ indexing_status: 'completed' });
    });

    test('the reconciler starts the workflow of a job, cancelled or not', async () => {
      const now = new Date();
      const [lost, cancelled] = [aiJobRecord({ org, now }), aiJobRecord({ org, now, cancel_requested: true })];
      await withDb(own.product.mongodbUri, async (db) => {
        const jobs = db.collection<typeof lost>('ai_jobs');
        await jobs.insertMany([lost, cancelled]);
        const stored = (job: typeof lost) => jobs.findOne({ _id: job._id });
        await eventually('the lost job succeeded', async () => (await stored(lost))?.status === 'success');
        await eventually('the other job cancelled', async () => (await stored(cancelled))?.status === 'fail');
        expect((await stored(cancelled))?.error_message).toBe('The job was cancelled.');
      });
    });

    test('kill -9 between the transaction that completes an item and the start of its delivery: the webhook arrives', async () => {
      await withDb(own.product.mongodbUri, async (db) => {
        const database = await db.collection('databases').findOne({ org });
        // The killed process stands in for the workflow, so the reconciler must not start it.
        const later = new Date(Date.now() + 60 * 60 * 1000);
        const item = itemOf(String(database!._id), 'torn', 'graph_creation', later);
        await db.collection<{ _id: string }>('items').insertOne(item);
        const script = fileURLToPath(new URL('./support/dies-before-start.js', import.meta.url));
        const child = fork(script, [own.product.mongodbUri, item._id]);
        expect((await once(child, 'exit'))[1]).toBe('SIGKILL');
        expect(
          await db.collection<{ _id: string }>('deliveries').findOne({ dedupe_key: 'item/itm_torn/1' }),
        ).not.toBeNull();
      });
      expect(await api.status('crash', 'torn')).toMatchObject({ indexing_status: 'completed' });
      await receiver.waitFor('the webhook', ({ json }) => json.id === 'torn');
    });
  });

  describe('while an execution of a crew waits for a person', () => {
    const FACTS = { name: 'Ada', facts: 'The ship leaves at nine. The cat is fed twice a day. Ada has the keys.' };
    const task_id = 'write_letter';
    let letter: CrewClient;

    async function connect(): Promise<void> {
      const { key } = await makeKey(own.product.mongodbUri, org, 'crew_org');
      letter = createCrewClient(own.product.apiUrl, 'letter', key);
    }
    beforeAll(connect);

    /** A delivery whose only attempt is in progress. */
    async function deliveryToAHangingReceiver() {
      const owner = await clientOf('recovery-hanging', own.product);
      const hanging = await registeredReceiver(owner);
      hanging.hold = () => new Promise(() => undefined);
      await owner.createDatabase('hanging');
      await owner.ingest({ database: 'hanging', memories: JSON.stringify([{ id: 'late', text: 'The lamp is out.' }]) });
      await hanging.waitFor('the attempt', () => true);
      const record = () =>
        withDb(
          own.product.mongodbUri,
          async (db) => (await db.collection<DeliveryRecord>('deliveries').findOne({ org: 'recovery-hanging' }))!,
        );
      return { receiver: hanging, record };
    }

    test('a restart of the whole product: it still waits, and continues; an attempt in progress is repeated', async () => {
      const id = await letter.start(FACTS);
      const paused = await letter.reaches(id, 'pending_human_input');
      const hanging = await deliveryToAHangingReceiver();
      await own.product.worker.stop();
      // The worker has given its claim back, so the next worker does not wait until it expires.
      expect(await hanging.record()).toMatchObject({ status: 'pending', attempts: 1 });
      await own.restart();
      await connect();
      hanging.receiver.hold = undefined;
      await eventually('delivered', async () => (await hanging.record()).status === 'delivered');
      await hanging.receiver.close();
      expect(await letter.status(id)).toMatchObject({ status: 'pending_human_input', tasks: paused.tasks });
      const response = await letter.resume(id, { task_id: paused.current_task, is_approve: true });
      expect(response).toMatchObject({ status: 200 });
      await letter.reaches(id, 'completed');
    });

    test('kill -9 of API and worker: it continues with the crew as it was at kickoff', async () => {
      const id = await letter.start(FACTS);
      await letter.reaches(id, 'pending_human_input');
      const other = 'other:\n  description: D\n  expected_output: E\n  agent: writer\n';
      writeFileSync(join(own.crewsDir, 'letter', 'tasks.yaml'), other);
      for (const { pid } of [own.product.api, own.product.worker]) process.kill(pid(), 'SIGKILL');
      await eventually('the API knows the changed crew', async () => {
        const { crews } = (await letter.get('/crews')).body;
        const crew = crews.find(({ name }: { name: string }) => name === 'letter');
        return crew.tasks[0].task_id === 'other';
      });
      const human_feedback = 'Tell who has the keys.';
      expect(await letter.resume(id, { task_id, is_approve: false, human_feedback })).toMatchObject({ status: 200 });
      const again = await letter.reaches(id, 'pending_human_input', { task: task_id, count: 2 });
      expect(again.tasks).toHaveLength(1);
      expect(again.tasks[0].output).toContain('Ada has the keys.');
      expect(await letter.resume(id, { task_id, is_approve: true })).toMatchObject({ body: { status: 'completed' } });
    });
  });
});
