import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { NativeConnection, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { createReconcileActivities, type StaleWork, staleWork } from '../activities/reconcile.js';
import type { SearchIndex } from '../domain/content/search.js';
import { newDatabaseId } from '../domain/ids.js';
import { DAY_MS } from '../domain/webhooks/delivery-policy.js';
import { STALE_KINDS, type StaleKind } from '../domain/workflow-contract.js';
import { createExpiredUploads } from '../storage/ai-jobs/expired-uploads.js';
import { createAiJobs } from '../storage/ai-jobs/jobs.js';
import { createUploads } from '../storage/ai-jobs/uploads.js';
import { createDatabaseIndexes } from '../storage/content/database-indexes.js';
import { queuedItem } from '../storage/content/item-queue.js';
import { createItems } from '../storage/content/items.js';
import { createLanceIndex } from '../storage/content/search-index/lancedb/index.js';
import { createGridFsFiles } from '../storage/files/gridfs.js';
import { createProcesses } from '../storage/processes.js';
import { workflowBundle } from '../worker/bundle.js';
import { installTemporalLogger } from '../worker/logging.js';
import type * as workflows from '../workflows/index.js';
import { collectionsDuringTests, temporalDuringTests } from './support/during-tests.js';
import { hasTypes, listedWorkflows } from './support/listed-workflows.js';
import { clientOf } from './support/organisation.js';
import { databaseBeside, sharedProduct } from './support/product.js';
import { aiJobRecord, readyDatabase } from './support/records.js';

const LONG_AGO = new Date(0);

describe('the reconciler', () => {
  const { mongodbUri, temporalAddress } = sharedProduct();
  const log = pino({ level: 'silent' });
  const folder = mkdtempSync(join(tmpdir(), 'postback-reconcile-'));
  let index: SearchIndex;
  const collections = collectionsDuringTests(databaseBeside(mongodbUri, 'reconcile'));
  const temporal = temporalDuringTests();
  beforeAll(async () => {
    installTemporalLogger(log);
    index = createLanceIndex({ location: folder });
  });
  afterAll(async () => {
    await index?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** @param work kinds without an entry have no stale records */
  function activities(work: Partial<Record<StaleKind, StaleWork>> = {}) {
    const none: StaleWork = {
      records: { list: async () => [], markStarted: async () => undefined, markFailed: async () => undefined },
      idOf: String,
      start: async () => undefined,
    };
    const all = Object.fromEntries(STALE_KINDS.map((kind) => [kind, work[kind] ?? none]));
    return createReconcileActivities({
      staleWork: all as Record<StaleKind, StaleWork>,
      uploads: createUploads(collections),
      expiredUploads: createExpiredUploads(collections),
      items: createItems(collections),
      databaseIndexes: createDatabaseIndexes(collections),
      files: createGridFsFiles(collections),
      index,
      processes: createProcesses(collections),
      log,
      now: collections.now,
      quietMs: 1_000,
    });
  }

  async function addStaleJobs(org: string, count: number): Promise<string[]> {
    const jobs = Array.from({ length: count }, () => aiJobRecord({ org, now: new Date(), check_at: LONG_AGO }));
    await collections.aiJobs.insertMany(jobs);
    return jobs.map(({ _id }) => _id);
  }
  const jobs = (start: (id: string) => Promise<void>) =>
    staleWork({
      records: createAiJobs(collections, DAY_MS).stale,
      idOf: ({ _id }) => _id,
      start: ({ _id }) => start(_id),
    });
  const dueJobs = () => collections.aiJobs.distinct('_id', { check_at: LONG_AGO });
  const run = <Result>(activity: () => Promise<Result>) => new MockActivityEnvironment().run(activity);

  test('hides no record before its workflow was started, so a crash in between loses no time', async () => {
    await collections.aiJobs.deleteMany({});
    const ids = await addStaleJobs('crash', 50);
    const started: string[] = [];
    const { restartLostWork } = activities({
      jobs: jobs(async (id) => {
        expect(await dueJobs()).toContain(id);
        started.push(id);
      }),
    });
    expect(await run(() => restartLostWork('jobs'))).toEqual({ done: 50, failed: 0 });
    expect(started.sort()).toEqual(ids.sort());
    expect(await dueJobs()).toEqual([]);
    expect(await run(() => restartLostWork('jobs'))).toEqual({ done: 0, failed: 0 });
  });

  test('continues after records that cannot be started, and tries them again soon', async () => {
    await collections.aiJobs.deleteMany({});
    const broken = new Set(await addStaleJobs('broken', 30));
    await addStaleJobs('fine', 30);
    const { restartLostWork } = activities({
      jobs: jobs(async (id) => {
        if (broken.has(id)) throw new Error('this record cannot be started');
      }),
    });
    expect(await run(() => restartLostWork('jobs'))).toEqual({ done: 30, failed: 30 });
    const soon = await collections.aiJobs.distinct('_id', { check_at: { $lte: new Date() } });
    expect(soon.sort()).toEqual([...broken].sort());
  });

  test.each(['processing', 'errored'] as const)(
    'keeps the unclaimed file of the version that is served while the replacement is %s',
    async (indexing_status) => {
      const files = createGridFsFiles(collections);
      const org = `serving-${indexing_status}`;
      const file_id = `fil_${org}`;
      const file = {
        kind: 'file',
        file_id,
        filename: 'a.txt',
        file_kind: 'text',
        mime_type: 'text/plain',
        size: 1,
      } as const;
      const text = { kind: 'text' as const, text: 'The replacement.' };
      const owner = { org, database_id: 'db_serving', database: 'serving', collection: 'default', id: 'a' };
      const content = { type: 'knowledge', title: null, metadata: {}, additional_metadata: {} } as const;
      const first = queuedItem({ ...owner, ...content, batch: 'bat_first', source: file }, undefined, new Date());
      const second = queuedItem(
        { ...owner, ...content, batch: 'bat_second', source: text },
        { ...first, source: file },
        new Date(),
      );
      await collections.items.insertOne({
        ...second,
        indexing_status,
        served_version: 1,
        served: { ...content, batch: 'bat_first', source: file, updated_at: new Date() },
      } as never);
      await files.write(file_id, { org, batch: 'bat_first' }, Readable.from([Buffer.from('x')]));
      await files.write(`${file_id}-of-nobody`, { org, batch: 'bat_lost' }, Readable.from([Buffer.from('x')]));
      const stored = collections.db.collection<{ filename: string; uploadDate: Date }>('files.files');
      await stored.updateMany({ 'metadata.org': org }, { $set: { uploadDate: LONG_AGO } });
      expect(await run(activities().dropAbandonedFiles)).toMatchObject({ failed: 0 });
      expect(await stored.distinct('filename', { 'metadata.org': org })).toEqual([file_id]);
    },
  );

  test('starts the other kinds of work when one kind fails', async () => {
    await collections.aiJobs.deleteMany({});
    await addStaleJobs('beside', 1);
    const failing: StaleWork = { ...jobs(async () => undefined), records: { ...jobs(async () => undefined).records } };
    failing.records.list = () => Promise.reject(new Error('this collection cannot be read'));
    const connection = await NativeConnection.connect({ address: temporalAddress });
    const taskQueue = 'reconcile-in-a-test';
    const worker = await Worker.create({
      connection,
      taskQueue,
      workflowBundle: await workflowBundle(),
      activities: activities({ items: failing, jobs: jobs(async () => undefined) }),
    });
    await worker.runUntil(async () => {
      const workflowId = taskQueue;
      const sweep = temporal.workflow.execute<typeof workflows.reconcile>('reconcile', { taskQueue, workflowId });
      await expect(sweep).rejects.toMatchObject({ cause: { activityType: 'restartLostWork' } });
    });
    await connection.close();
    expect(await dueJobs()).toEqual([]);
  });

  test('compacts every search table, also beside a broken one', async () => {
    const databases = [newDatabaseId(), newDatabaseId(), newDatabaseId()];
    for (const [n, id] of databases.entries()) {
      await collections.databases.insertOne(readyDatabase(id, 'compaction', `notes-${n}`));
      await index.create(id);
    }
    // The first table has no versions any more.
    const broken = join(folder, readdirSync(folder).find((name) => name.startsWith(databases[0]!))!);
    rmSync(join(broken, '_versions'), { recursive: true });
    writeFileSync(join(broken, '_versions'), 'broken');
    const { compactSearchIndex } = activities();
    expect(await run(() => compactSearchIndex())).toEqual({ done: 2, failed: 1 });
  });

  test('has a task queue of its own, with provisioning and deletion, which never wait behind items', async () => {
    const org = 'control-queue';
    const api = await clientOf(org);
    await api.createDatabase('shelf');
    await api.ingest({ database: 'shelf', memories: '[{"id":"note","text":"The lamp was lit at dusk."}]' });
    await api.ended('shelf', 'note');
    await api.request('DELETE', '/context', { json: { database: 'shelf', ids: ['note'] } });
    await api.del('/databases/shelf');
    const controlTypes = ['provisionDatabase', 'deleteDatabase', 'clearRemovedItems'];
    const complete = hasTypes('indexItems', ...controlTypes);
    const listed = await listedWorkflows(temporal, `PostbackOrganisation="${org}"`, complete);
    const queues = new Map(listed.map(({ type, taskQueue }) => [type, taskQueue]));
    expect(queues.get('indexItems')).toBe('content');
    for (const type of controlTypes) expect([type, queues.get(type)]).toEqual([type, 'control']);
    for (const id of ['reconcile', 'drop-abandoned-files', 'compact-search-index']) {
      const { action } = await temporal.schedule.getHandle(id).describe();
      expect(action.taskQueue).toBe('control');
    }
  });
});
