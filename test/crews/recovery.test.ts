import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { type Client, type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';
import type { Db } from 'mongodb';
import { connectTemporal } from '../../temporal/connection.js';
import { crewDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { sharedProduct, withDb } from '../support/product.js';
import { reconcile } from '../support/reconcile.js';

// Tests the records of processes that died; test/release/recovery.test.ts kills processes.
describe('after an API that was killed', () => {
  const { mongodbUri } = sharedProduct();
  const inputs = { customer_message: 'Where is my parcel?', notes: 'Parcels take two days.' };
  const task_id = 'draft_reply';
  const org = 'crew-recovery';
  const crew = crewDuringTests(org);

  test('the reconciler starts the workflow of an execution that was stored but not started', async () => {
    const id = await crew.start(inputs);
    await crew.reaches(id, 'pending_human_input');
    const orphan = randomUUID();
    await withDb(mongodbUri, async (db) => {
      const executions = db.collection<{ _id: string; tasks: object[] }>('crew_executions');
      const { tasks, ...rest } = (await executions.findOne({ _id: id }))!;
      const fresh = { status: 'pending', attempts: 0, output: null, model: null };
      await executions.insertOne({
        ...rest,
        _id: orphan,
        status: 'running',
        check_at: new Date(0),
        tasks: tasks.map((task) => ({ ...task, ...fresh })),
      } as never);
    });
    await reconcile(sharedProduct());
    await crew.reaches(orphan, 'pending_human_input');
  });

  test('the reconciler cancels an execution whose cancellation did not reach its workflow', async () => {
    const id = await crew.start(inputs);
    await crew.reaches(id, 'pending_human_input');
    await withDb(mongodbUri, (db) =>
      db
        .collection<{ _id: string }>('crew_executions')
        .updateOne({ _id: id }, { $set: { cancel_requested: true, check_at: new Date(0) } }),
    );
    await reconcile(sharedProduct());
    expect(await crew.reaches(id, 'error')).toMatchObject({ error_code: 'cancelled' });
  });

  describe('feedback for an execution whose workflow is gone', () => {
    const { temporalAddress } = sharedProduct();
    const workflowOf = async <T>(id: string, use: (handle: WorkflowHandle, temporal: Client) => Promise<T>) => {
      const temporal = await connectTemporal(temporalAddress, 'default');
      return use(temporal.workflow.getHandle(`crew/${id}`), temporal).finally(() => temporal.connection.close());
    };
    const notes = 'Parcels take two days. The phone line opens at nine.';
    const waiting = async () => {
      const id = await crew.start({ ...inputs, notes });
      await crew.reaches(id, 'pending_human_input');
      return id;
    };
    const feedbackOf = (id: string) =>
      withDb(mongodbUri, (db) => db.collection('crew_feedback').find({ execution: id }).toArray());

    test('is applied when an operator has terminated it, by a new workflow that continues at the task', async () => {
      const id = await waiting();
      await workflowOf(id, (handle) => handle.terminate('by an operator'));
      const rejected = { task_id, is_approve: false, human_feedback: 'Mention the phone line.' };
      expect(await crew.resume(id, rejected)).toMatchObject({ status: 200, body: { status: 'retrying' } });
      const retried = await crew.reaches(id, 'pending_human_input', { task: task_id, count: 2 });
      expect(retried.tasks[1].output).toContain('The phone line opens at nine.');
      await workflowOf(id, (handle) => handle.terminate('again'));
      expect(await crew.resume(id, { task_id, is_approve: true })).toMatchObject({ status: 200 });
      await crew.reaches(id, 'completed');
      const applied = (await feedbackOf(id)).map(({ text, applied_at }) => [text, applied_at !== null]);
      expect(applied).toContainEqual(['Mention the phone line.', true]);
      expect(applied).toHaveLength(2);
    });

    test('is applied when Temporal has lost its history', async () => {
      const id = await waiting();
      await workflowOf(id, async (handle, { workflowService, options: { namespace } }) => {
        await workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId: `crew/${id}` } });
        await eventually('the workflow deleted', () =>
          handle.describe().then(
            () => false,
            (error) => error instanceof WorkflowNotFoundError,
          ),
        );
      });
      expect(await crew.resume(id, { task_id, is_approve: true })).toMatchObject({ status: 200 });
      await crew.reaches(id, 'completed');
    });

    test('is applied when the workflow has completed after the moment to which the records were restored', async () => {
      const id = await waiting();
      const executions = (db: Db) => db.collection<{ _id: string }>('crew_executions');
      const backup = await withDb(mongodbUri, (db) => executions(db).findOne({ _id: id }));
      expect(await crew.resume(id, { task_id, is_approve: true })).toMatchObject({ status: 200 });
      await crew.reaches(id, 'completed');
      await workflowOf(id, (handle) => handle.result());
      await withDb(mongodbUri, (db) => executions(db).replaceOne({ _id: id }, backup!));
      expect(await crew.resume(id, { task_id, is_approve: true })).toMatchObject({ status: 200 });
      await crew.reaches(id, 'completed');
    });
  });

  test('feedback that did not take effect is ignored and deleted', async () => {
    const id = await crew.start(inputs);
    await crew.reaches(id, 'pending_human_input');
    const feedback = () => withDb(mongodbUri, (db) => db.collection('crew_feedback').find({ execution: id }).toArray());
    // Left by an API that was killed before it sent the feedback to the workflow.
    await withDb(mongodbUri, (db) =>
      db.collection<{ _id: string }>('crew_feedback').insertOne({
        _id: 'fbk_lost',
        org,
        execution: id,
        task: task_id,
        attempt: 1,
        text: 'Lost.',
        applied_at: null,
        expires_at: null,
      } as never),
    );
    const both = await Promise.all([1, 2].map(() => crew.resume(id, { task_id, is_approve: true })));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
    await crew.reaches(id, 'completed');
    const remaining = await eventually('the lost feedback deleted', async () => {
      const found = await feedback();
      return found.length === 1 && found[0]!.expires_at !== null && found;
    });
    expect(remaining[0]).toMatchObject({ is_approve: true, applied_at: expect.any(Date) });
    expect(await withDb(mongodbUri, (db) => db.collection('crew_steps').countDocuments({ execution: id }))).toBe(0);
  });
});
