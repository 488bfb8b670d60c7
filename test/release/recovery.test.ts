import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { scanJob } from '../ai-jobs/work-in-progress.js';
import { sync } from '../connectors/work-in-progress.js';
import { lostItem, scannedItem, tenItems } from '../content/work-in-progress.js';
import { modelCall } from '../crews/work-in-progress.js';
import { scan, scannedPdf } from '../fixtures/scanned-files.js';
import { killChildren } from '../support/child-processes.js';
import type { Client } from '../support/client.js';
import { type CrashProduct, type InterruptedWork, startCrashProduct } from '../support/crash-product.js';
import { type CrewClient, createCrewClient } from '../support/crew-client.js';
import { eventually } from '../support/eventually.js';
import { clientOf, registeredReceiver } from '../support/organisation.js';
import { makeKey, withDb } from '../support/product.js';
import type { Receiver } from '../support/receiver.js';
import { aiJobRecord, deliveryRecord } from '../support/records.js';

// Kills processes, so it starts its own, and each as seldom as it can: a killed worker's activities wait for their heartbeat
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
      for (const work of Object.values(works)) await work.prepare?.();
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
        const script = fileURLToPath(new URL('../support/dies-before-start.js', import.meta.url));
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

  describe('kill -9 of API and worker', () => {
    const task_id = 'write_letter';
    const notes = Array.from({ length: 40 }, (_, n) => ({
      id: `api-killed-${n}`,
      text: `Note ${n}. The lamp is lit.`,
    }));
    let letter: CrewClient;
    let execution: string;

    beforeAll(async () => {
      const { key } = await makeKey(own.product.mongodbUri, org, 'crew_org');
      letter = createCrewClient(own.product.apiUrl, 'letter', key);
      execution = await letter.start({
        name: 'Ada',
        facts: 'The ship leaves at nine. The cat is fed twice a day. Ada has the keys.',
      });
      await letter.reaches(execution, 'pending_human_input');
      const other = 'other:\n  description: D\n  expected_output: E\n  agent: writer\n';
      writeFileSync(join(own.crewsDir, 'letter', 'tasks.yaml'), other);
      const response = await api.ingest({ database: 'crash', memories: JSON.stringify(notes) });
      for (const { pid } of [own.product.api, own.product.worker]) process.kill(pid(), 'SIGKILL');
      expect(response.body.data.success_count).toBe(40);
    });

    test('right after its response: no item of a large request is lost', () =>
      eventually('forty webhooks', () => {
        const delivered = new Set(receiver.received.map(({ json }) => json.id));
        return notes.every(({ id }) => delivered.has(id));
      }));

    test('while an execution of a crew waits for a person: it continues with the crew as it was at kickoff', async () => {
      await eventually('the API knows the changed crew', async () => {
        const { crews } = (await letter.get('/crews')).body;
        const crew = crews.find(({ name }: { name: string }) => name === 'letter');
        return crew.tasks[0].task_id === 'other';
      });
      const human_feedback = 'Tell who has the keys.';
      expect(await letter.resume(execution, { task_id, is_approve: false, human_feedback })).toMatchObject({
        status: 200,
      });
      const again = await letter.reaches(execution, 'pending_human_input', { task: task_id, count: 2 });
      expect(again.tasks).toHaveLength(1);
      expect(again.tasks[0].output).toContain('Ada has the keys.');
      const approved = await letter.resume(execution, { task_id, is_approve: true });
      expect(approved).toMatchObject({ body: { status: 'completed' } });
    });
  });
});
