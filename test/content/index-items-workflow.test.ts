import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection } from '@temporalio/worker';
import { pino } from 'pino';
import type { IndexItemsActivities } from '../../activities/content/index-items.js';
import { FILE_QUEUE, GROUP_QUEUE, type ItemsRef, SUPERSEDED } from '../../domain/content/workflow-contract.js';
import { newBatchId } from '../../domain/ids.js';
import { connectTemporal, registerSearchAttributes } from '../../temporal/connection.js';
import { workflowBundle } from '../../worker/bundle.js';
import { installTemporalLogger } from '../../worker/logging.js';
import { createWorkers } from '../../worker/workers.js';
import { temporalDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { listedWorkflows } from '../support/listed-workflows.js';
import { clientOf } from '../support/organisation.js';
import { createNamespace, sharedProduct, withDb } from '../support/product.js';
import { reconcile } from '../support/reconcile.js';

describe('the workflow of small items', () => {
  const { mongodbUri } = sharedProduct();
  const org = 'group-workflow';
  const temporal = temporalDuringTests();

  /** Ids and types of the item workflows that the Temporal UI finds for an item. */
  const workflowsOf = async (id: string) => {
    const query = `PostbackOrganisation="${org}" AND PostbackSource="${id}" AND WorkflowType="indexItems"`;
    return (await listedWorkflows(temporal, query)).map(({ type, workflowId }) => [type, workflowId]);
  };

  test('is found by the id of each of its items, and named by each; a lone item has one with a readable id', async () => {
    const api = await clientOf(org);
    await api.createDatabase('notes');
    const ids = ['north "1"', 'south', 'west'];
    const memories = ids.map((id) => ({ id, text: `The ${id} lamp.` }));
    await api.ingest({ database: 'notes', memories: JSON.stringify(memories) });
    await api.ingest({ database: 'notes', memories: '[{"id":"alone","text":"A lamp."}]' });
    for (const id of [...ids, 'alone']) await api.ended('notes', id);
    const [first, ...others] = await Promise.all(['south', 'west'].map(workflowsOf));
    expect(first).toHaveLength(1);
    expect(first![0]![0]).toBe('indexItems');
    expect(others).toEqual([first]);
    const alone = `item/${org}/${await databaseId()}/default/alone/1`;
    expect(await workflowsOf('alone')).toEqual([['indexItems', alone]]);
    const { statuses } = (await api.get('/context/status?database=notes&ids=south,alone,none')).body.data;
    const named = statuses.map(({ workflow }: { workflow: string | null }) => workflow);
    expect(named).toEqual([first![0]![1], alone, null]);
    expect((await api.get('/context/alone?database=notes')).body.data.workflow).toBe(alone);
    const { items } = (await api.get('/context/list?database=notes')).body.data;
    expect(items.map(({ workflow }: { workflow: string }) => workflow)).toContain(first![0]![1]);
  });

  /** The id of the database `notes`. */
  const databaseId = () =>
    withDb(mongodbUri, async (db) => String((await db.collection('databases').findOne({ org, name: 'notes' }))!._id));

  test('takes six events for a lone note', async () => {
    const api = await clientOf(org);
    await api.createDatabase('events');
    let count = 0;
    // On a busy machine the task may take so long that its worker asks for more time, which is an event.
    await eventually('a note of six events', async () => {
      count += 1;
      const id = `note-${count}`;
      await api.ingest({ database: 'events', memories: JSON.stringify([{ id, text: 'The lamp was lit at dusk.' }]) });
      await api.ended('events', id);
      const { workflow } = (await api.get(`/context/status?database=events&id=${id}`)).body.data.statuses[0];
      const handle = temporal.workflow.getHandle(workflow);
      expect(await handle.result()).toEqual({ completed: 1, dropped: 0, errored: [] });
      return (await handle.describe()).historyLength === 6;
    });
  });

  test('shows operators which of its items are errored', async () => {
    const api = await clientOf(org);
    await api.createDatabase('errored');
    const document_metadata = JSON.stringify([{ id: 'read' }, { id: 'blank' }]);
    const files = Object.entries({ 'read.md': 'The lamp was lit.', 'blank.txt': ' ' });
    await api.ingest(
      { database: 'errored', document_metadata },
      files.map(([name, content]) => ({ name, content })),
    );
    expect(await api.ended('errored', 'read')).toMatchObject({ indexing_status: 'completed' });
    expect(await api.ended('errored', 'blank')).toMatchObject({
      indexing_status: 'errored',
      error_code: 'E2004',
      failed_step: 'processing',
    });
    const query = `PostbackOrganisation="${org}" AND PostbackSource="blank" AND PostbackOutcome="errored"`;
    const [found] = await listedWorkflows(temporal, query);
    const report = await temporal.workflow.getHandle(found!.workflowId).result();
    expect(report).toMatchObject({ completed: 1, errored: [{ error_code: 'E2004' }] });
  });

  test('is started by the reconciler with all of its items when it is missing', async () => {
    const api = await clientOf(org);
    await api.createDatabase('lost');
    await api.ingest({ database: 'lost', memories: '[{"id":"pattern","text":"A lamp."}]' });
    await api.ended('lost', 'pattern');
    const batch = newBatchId();
    // More than the reconciler reads at a time.
    const ids = Array.from({ length: 25 }, (_, n) => `member-${n}`);
    await withDb(mongodbUri, async (db) => {
      const { _id, ...pattern } = (await db.collection('items').findOne({ org, id: 'pattern' }))!;
      const queued = { ...pattern, batch, group: 0, indexing_status: 'queued', check_at: new Date(0) };
      const records = ids.map((id) => ({ ...queued, _id: `${_id}-${id}`, id }));
      await db.collection<{ _id: string }>('items').insertMany(records);
    });
    await reconcile(sharedProduct());
    for (const id of ids) expect(await api.ended('lost', id)).toMatchObject({ indexing_status: 'completed' });
    for (const id of [ids[0]!, ids[24]!])
      expect(await workflowsOf(id)).toEqual([['indexItems', `items/${org}/${batch}/0`]]);
  });
});

describe('small items that the attempt together has left', () => {
  const namespace = 'index-items';
  const { temporalAddress } = sharedProduct();
  const version = (item: string) => ({ item, version: 1 });
  const work = (items: string[]): ItemsRef => ({ org: 'left', database_id: 'tnt_1', items: items.map(version) });
  const failure = (type: string, nonRetryable: boolean) => ApplicationFailure.create({ type, nonRetryable });
  let temporal: Client;
  let connection: NativeConnection;

  beforeAll(async () => {
    installTemporalLogger(pino({ level: 'silent' }));
    await createNamespace(temporalAddress, namespace);
    temporal = await connectTemporal(temporalAddress, namespace);
    await registerSearchAttributes(temporal, namespace);
    connection = await NativeConnection.connect({ address: temporalAddress });
  });
  afterAll(async () => {
    await connection.close();
    await temporal.connection.close();
  });

  /** Runs the workflow. @returns its result, and its activities with their queues, in the order of their starts */
  async function index(items: string[], activities: IndexItemsActivities) {
    const workers = await createWorkers({
      connection,
      namespace,
      bundle: await workflowBundle(),
      queues: ['content'],
      activities: { content: activities, [GROUP_QUEUE]: activities, [FILE_QUEUE]: activities } as never,
      graceMs: 0,
      log: pino({ level: 'silent' }),
    });
    const handle = await temporal.workflow.start('indexItems', {
      workflowId: randomUUID(),
      taskQueue: 'content',
      args: [work(items)],
    });
    const running = workers.map((worker) => worker.run());
    const report = await handle.result();
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
    const { events } = await handle.fetchHistory();
    const scheduled = (events ?? []).flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
    return { report, scheduled: scheduled.map((each) => [each.activityType?.name, each.taskQueue?.name]), handle };
  }

  test('continue in the same workflow, each until it has ended, and the workflow tells which are errored', async () => {
    const attempts: Record<string, number> = {};
    const { report, scheduled, handle } = await index(['well', 'slow', 'bad', 'gone'], {
      indexTogether: async () => ({
        completed: 1,
        dropped: 0,
        errored: [],
        left: ['slow', 'bad', 'gone'].map(version),
      }),
      async indexAlone({ item }) {
        attempts[item] = (attempts[item] ?? 0) + 1;
        if (item === 'slow' && attempts[item] === 1) throw failure('E6001', false);
        if (item === 'gone') return SUPERSEDED;
        return item === 'slow'
          ? { status: 'completed' }
          : { status: 'errored', error_code: 'E2004', error_message: 'No.' };
      },
    });
    const errored = [{ ...version('bad'), error_code: 'E2004', error_message: 'No.' }];
    expect(report).toEqual({ completed: 2, dropped: 1, errored });
    expect(attempts).toEqual({ slow: 2, bad: 1, gone: 1 });
    expect(scheduled).toEqual([['indexTogether', GROUP_QUEUE], ...Array(3).fill(['indexAlone', 'content'])]);
    const { searchAttributes } = await handle.describe();
    expect(searchAttributes.PostbackOutcome).toEqual(['errored']);
  });

  test('are all, when that attempt fails: one of them may be the cause', async () => {
    const { report, scheduled } = await index(['one', 'two'], {
      indexTogether: () => Promise.reject(failure('E6001', true)),
      indexAlone: async () => ({ status: 'completed' }),
    });
    expect(report).toEqual({ completed: 2, dropped: 0, errored: [] });
    expect(scheduled).toEqual([['indexTogether', GROUP_QUEUE], ...Array(2).fill(['indexAlone', 'content'])]);
  });

  test('are the lone one, whose first attempt needs no activity of its own', async () => {
    const { report, scheduled } = await index(['lone'], {
      indexTogether: () => Promise.reject(failure('E6001', false)),
      indexAlone: async () => ({ status: 'completed' }),
    });
    expect(report).toEqual({ completed: 1, dropped: 0, errored: [] });
    expect(scheduled).toEqual([['indexAlone', 'content']]);
  });
});
