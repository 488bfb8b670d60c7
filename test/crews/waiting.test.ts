import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { MockActivityEnvironment, type TestWorkflowEnvironment } from '@temporalio/testing';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createCrewActivities } from '../../activities/crews/run-crew.js';
import { type CrewReview, webhookUrlsOf } from '../../domain/crews/crews.js';
import { NOT_PENDING, type ResumeRef } from '../../domain/crews/workflow-contract.js';
import { newFeedbackId } from '../../domain/ids.js';
import { DAY_MS } from '../../domain/webhooks/delivery-policy.js';
import { loadCrews } from '../../providers/crews/load-crews.js';
import { createLanguageModels } from '../../providers/language-models/index.js';
import { createDatabases } from '../../storage/content/databases.js';
import { type CrewExecutionRecord, newExecution } from '../../storage/crews/execution-record.js';
import { type CrewExecutions, createCrewExecutions } from '../../storage/crews/executions.js';
import { createCrewFeedback } from '../../storage/crews/feedback.js';
import { createCrewSteps } from '../../storage/crews/steps.js';
import { createDeliveries } from '../../storage/webhooks/deliveries.js';
import { createStarters, type Starters } from '../../temporal/starters.js';
import { workflowBundle } from '../../worker/bundle.js';
import { collectionsDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { databaseBeside, sharedProduct } from '../support/product.js';
import { startTimeSkipping, untilIdle } from '../support/time-skipping.js';

const TASK = 'write_letter';

// Temporal's time-skipping server lets months pass in seconds. MongoDB and the activities are real.
/** The organisation of the executions. */
const ORG = 'waiting';

describe('an execution that waits', () => {
  let env: TestWorkflowEnvironment;
  let executions: CrewExecutions;
  const crew = loadCrews('test/fixtures/crews').crews.get('letter')!;
  const collections = collectionsDuringTests(databaseBeside(sharedProduct().mongodbUri, 'crews-waiting'));
  beforeAll(async () => {
    env = await startTimeSkipping();
    executions = createCrewExecutions(collections, DAY_MS);
  });
  afterAll(() => env?.teardown());

  /**
   * Runs a worker until the callback resolves. The worker has a connection of its own, because this server gives work to
   * the polls of a worker that has stopped, until their connection is closed.
   * @param maxCachedWorkflows 0: every step replays the whole history, as after a restart. Required when another worker
   *   follows
   */
  async function withWorker<T>(run: () => Promise<T>, maxCachedWorkflows = 0): Promise<T> {
    const connection = await NativeConnection.connect({ address: env.address });
    try {
      const worker = await Worker.create({
        connection,
        taskQueue: 'crews',
        workflowBundle: await workflowBundle(),
        maxCachedWorkflows,
        // No worker sends deliveries here, and time does not skip beside a workflow that nobody runs.
        activities: crewActivities({ startDelivery: async () => undefined }),
      });
      return await worker.runUntil(run);
    } finally {
      await connection.close();
    }
  }

  function crewActivities(starters: Pick<Starters, 'startDelivery'> = createStarters(env.client)) {
    const unused = new Proxy({}, { get: () => () => Promise.reject(new Error('not used by this crew')) }) as never;
    return createCrewActivities({
      mongoClient: collections.mongoClient,
      now: collections.now,
      crewExecutions: executions,
      publicUrl: null,
      crewFeedback: createCrewFeedback(collections),
      crewSteps: createCrewSteps(collections),
      deliveries: createDeliveries(collections),
      databases: createDatabases(collections),
      starters,
      models: createLanguageModels({}),
      // The built-in model uses no tokens.
      quotas: { tokenMeter: () => unused },
      retrieval: unused,
      outbound: unused,
      toolDocuments: unused,
      toolSecrets: {},
      scratch: unused,
      extractor: unused,
      describeFile: unused,
      metrics: { crewFinished: () => undefined },
    });
  }

  async function addExecution(
    urls: Parameters<typeof webhookUrlsOf>[0] = {},
    review?: CrewReview,
    changes: Partial<CrewExecutionRecord> = {},
  ): Promise<string> {
    const given = { inputs: { name: 'Ada', facts: 'The ship leaves at nine. The cat is fed twice a day.' } };
    const definition = review ? { ...crew, review } : crew;
    const execution = { ...newExecution(ORG, definition, given, webhookUrlsOf(urls), new Date()), ...changes };
    await executions.add(execution);
    return execution._id;
  }

  async function start(review?: CrewReview): Promise<{ id: string; handle: WorkflowHandle }> {
    const id = await addExecution({ taskWebhookUrl: 'https://example.com/hook' }, review);
    await createStarters(env.client).startCrew((await executions.getById(ORG, id))!);
    return { id, handle: env.client.workflow.getHandle(`crew/${id}`) };
  }

  async function waits(id: string, attempt: number): Promise<void> {
    await eventually(`attempt ${attempt} waits`, async () => {
      const { status, tasks } = (await executions.getById(ORG, id))!;
      return status === 'pending_human_input' && tasks[0]!.attempts === attempt;
    });
    await untilIdle(env.client.workflow.getHandle(`crew/${id}`));
  }

  async function addFeedback(id: string, attempt: number, is_approve: boolean): Promise<ResumeRef> {
    const feedback = newFeedbackId();
    await createCrewFeedback(collections).add({
      _id: feedback,
      org: ORG,
      execution: id,
      task: TASK,
      attempt,
      text: 'Fine.',
      is_approve,
      urls: webhookUrlsOf({}),
      created_at: new Date(),
      applied_at: null,
      output: null,
      expires_at: null,
    });
    return { execution: id, org: ORG, task: TASK, attempt, feedback, is_approve };
  }

  async function resume(id: string, attempt: number, is_approve: boolean): Promise<string> {
    const ref = await addFeedback(id, attempt, is_approve);
    return env.client.workflow.getHandle(`crew/${id}`).executeUpdate<string, [ResumeRef]>('resume', { args: [ref] });
  }

  test('is resumed after ninety days by other workers', async () => {
    const { id, handle } = await withWorker(async () => {
      const started = await start();
      await waits(started.id, 1);
      return started;
    });
    const before = await env.currentTimeMs();
    await env.sleep('90 days');
    expect((await env.currentTimeMs()) - before).toBeGreaterThanOrEqual(90 * DAY_MS);
    expect((await handle.describe()).status.name).toBe('RUNNING');
    await withWorker(async () => {
      expect(await resume(id, 1, false)).toBe('retrying');
      await waits(id, 2);
      await env.sleep('90 days');
      expect(await resume(id, 2, true)).toBe('completed');
      expect(await handle.result()).toEqual({ status: 'completed' });
    });
    expect(await executions.getById(ORG, id)).toMatchObject({
      status: 'completed',
      tasks: [{ status: 'completed', attempts: 2 }],
    });
  });

  test('continues as a new run after many attempts, and keeps counting them', async () => {
    // Replaying twenty attempts at each step would be slow.
    await withWorker(async () => {
      const { id, handle } = await start();
      await waits(id, 1);
      const { runId } = await handle.describe();
      for (let attempt = 1; attempt <= 22; attempt++) {
        await waits(id, attempt);
        expect(await resume(id, attempt, false)).toBe('retrying');
      }
      await waits(id, 23);
      const now = await handle.describe();
      expect(now.runId).not.toBe(runId);
      expect(now.historyLength).toBeLessThan(200);
      // Feedback on an earlier attempt is rejected in every run.
      await expect(resume(id, 20, true)).rejects.toMatchObject({ cause: { type: 'NotPending' } });
      expect(await resume(id, 23, true)).toBe('completed');
      expect(await handle.result()).toEqual({ status: 'completed' });
    }, 10);
  });

  test('ends as an error when an operator cancels it', async () => {
    await withWorker(async () => {
      const { id, handle } = await start();
      await waits(id, 1);
      await handle.cancel();
      expect(await handle.result()).toMatchObject({ status: 'error', error_code: 'cancelled' });
      expect(await executions.getById(ORG, id)).toMatchObject({ status: 'error', tasks: [{ status: 'error' }] });
      await expect(resume(id, 1, true)).rejects.toThrow();
    });
  });

  describe('with a deadline', () => {
    const review = { deadline_ms: 30 * DAY_MS, reminder_ms: null, on_deadline: 'fail' } as const;
    const exceeded = {
      status: 'error',
      error_code: 'deadline_exceeded',
      error_message: 'Nobody decided on "write_letter" before the deadline.',
    };

    test('ends when nobody decides, after a reminder', async () => {
      await withWorker(async () => {
        const { id, handle } = await start({ ...review, reminder_ms: 7 * DAY_MS });
        await waits(id, 1);
        const before = await env.currentTimeMs();
        await env.sleep('8 days');
        const reminder = await eventually('the reminder', () =>
          collections.deliveries.findOne({ dedupe_key: `crew/${id}/${TASK}/1/pending/reminder` }),
        );
        const { sequence, waiting_since } = (await executions.getById(ORG, id))!;
        expect(JSON.parse(reminder.message!.body)).toMatchObject({
          event: 'task_pending_human_input',
          reminder: true,
          sequence,
          deadline: new Date(waiting_since!.getTime() + 30 * DAY_MS).toISOString(),
        });
        expect(await handle.result()).toEqual(exceeded);
        expect((await env.currentTimeMs()) - before).toBeGreaterThanOrEqual(30 * DAY_MS);
        expect(await executions.getById(ORG, id)).toMatchObject({
          ...exceeded,
          waiting_since: null,
          tasks: [{ status: 'error' }],
        });
        await expect(resume(id, 1, true)).rejects.toThrow();
      });
    });

    test('can approve the output', async () => {
      await withWorker(async () => {
        const { id, handle } = await start({ ...review, on_deadline: 'approve' });
        expect(await handle.result()).toEqual({ status: 'completed' });
        expect(await executions.getById(ORG, id)).toMatchObject({
          tasks: [{ status: 'completed', attempts: 1, decision: { attempt: 1, decided_by: { kind: 'deadline' } } }],
        });
      });
    });

    test('can reject the output, until three attempts were not decided on', async () => {
      await withWorker(async () => {
        const { id, handle } = await start({ ...review, on_deadline: 'reject' });
        expect(await handle.result()).toEqual(exceeded);
        expect(await executions.getById(ORG, id)).toMatchObject({ tasks: [{ status: 'error', attempts: 3 }] });
        const ref = { execution: id, org: ORG, task: TASK, attempt: 3 };
        const { rejections } = await createCrewFeedback(collections).listForAttempt(ref, 10);
        expect(rejections.map(({ attempt, is_approve }) => [attempt, is_approve])).toEqual([
          [1, false],
          [2, false],
        ]);
      });
    });

    test('gives each attempt its time, and a decision in time counts', async () => {
      await withWorker(async () => {
        const { id, handle } = await start(review);
        await waits(id, 1);
        await env.sleep('20 days');
        expect(await resume(id, 1, false)).toBe('retrying');
        await waits(id, 2);
        await env.sleep('20 days');
        expect(await resume(id, 2, true)).toBe('completed');
        expect(await handle.result()).toEqual({ status: 'completed' });
      });
    });
  });

  test('keeps a decision that arrives before the record waits', async () => {
    const id = await addExecution();
    const activities = crewActivities();
    const attempt = { execution: id, org: ORG, task: TASK, attempt: 1 };
    const run = <Result>(activity: () => Promise<Result>) => new MockActivityEnvironment().run(activity);
    await run(() => activities.startTask(attempt));
    const decision = await addFeedback(id, 1, true);
    // The workflow retries the activity until the record waits.
    await expect(run(() => activities.applyResume(decision))).rejects.toThrow('An internal error');
    expect(await executions.getById(ORG, id)).toMatchObject({ status: 'running', tasks: [{ status: 'running' }] });
    await run(() => activities.callModel({ ...attempt, step: 1, last: false }));
    await run(() => activities.endTask({ ...attempt, step: 1 }, true));
    await run(() => activities.applyResume(decision));
    expect(await executions.getById(ORG, id)).toMatchObject({ status: 'running', tasks: [{ status: 'completed' }] });
    // The result of an activity that took effect may be lost; its next attempt succeeds.
    await run(() => activities.applyResume(decision));
  });

  test('rejects a decision on an execution that has ended meanwhile', async () => {
    const id = await addExecution();
    const activities = crewActivities({ startDelivery: async () => undefined });
    const attempt = { execution: id, org: ORG, task: TASK, attempt: 1 };
    const run = <Result>(activity: () => Promise<Result>) => new MockActivityEnvironment().run(activity);
    await run(() => activities.startTask(attempt));
    await run(() => activities.callModel({ ...attempt, step: 1, last: false }));
    await run(() => activities.endTask({ ...attempt, step: 1 }, true));
    const decision = await addFeedback(id, 1, true);
    // An async task beside it has failed.
    const failed = { status: 'error', error_message: 'Another task failed.' } as const;
    const crewRef = { execution: id, org: ORG, tasks: [], done: 0, attempt: 1 };
    await run(() => activities.finishExecution(crewRef, failed));
    await expect(run(() => activities.applyResume(decision))).rejects.toMatchObject({
      nonRetryable: true,
      type: NOT_PENDING,
    });
  });

  describe('a step that was stored by a process that died before it started the delivery', () => {
    const run = <Result>(activity: () => Promise<Result>) => new MockActivityEnvironment().run(activity);
    const later = () => crewActivities({ startDelivery: async () => undefined });

    /** @returns the events that wait for the sender, in the order in which they are due */
    async function eventsDue(execution: string): Promise<string[]> {
      const pending = collections.deliveries.find({ org: ORG, doc_id: execution, status: 'pending' });
      return (await pending.sort({ next_attempt_at: 1, _id: 1 }).toArray()).map(({ event_type }) => event_type);
    }

    /** @returns the input of the step whose delivery was not started */
    async function unannouncedStep() {
      const url = 'https://example.com/hook';
      const execution = await addExecution({ stepWebhookUrl: url, taskWebhookUrl: url, crewWebhookUrl: url });
      const dying = crewActivities({ startDelivery: () => Promise.reject(new Error('the process died')) });
      const attempt = { execution, org: ORG, task: TASK, attempt: 1 };
      await run(() => dying.startTask(attempt));
      const step = { ...attempt, step: 1, last: false };
      await expect(run(() => dying.callModel(step))).rejects.toThrow('An internal error');
      return step;
    }

    test('sends its callback before those of later events', async () => {
      const step = await unannouncedStep();
      await run(() => later().callModel(step));
      await run(() => later().endTask(step, true));
      expect(await eventsDue(step.execution)).toEqual(['step', 'task_pending_human_input']);
    });

    test('sends its callback before that of the end, when the execution is cancelled at the same time', async () => {
      const { execution } = await unannouncedStep();
      const cancelled = { status: 'error', error_message: 'The execution was cancelled.' } as const;
      const crewRef = { execution, org: ORG, tasks: [], done: 0, attempt: 1 };
      await run(() => later().finishExecution(crewRef, cancelled));
      expect(await eventsDue(execution)).toEqual(['step', 'crew_failed']);
    });
  });

  test('continues from its record when its workflow was terminated', async () => {
    await withWorker(async () => {
      const { id, handle } = await start();
      await waits(id, 1);
      expect(await resume(id, 1, false)).toBe('retrying');
      await waits(id, 2);
      await handle.terminate();
      const starters = createStarters(env.client);
      await starters.startCrew((await executions.getById(ORG, id))!);
      await eventually('the new run waits', async () => (await resume(id, 2, true).catch(() => null)) === 'completed');
      expect(await executions.getById(ORG, id)).toMatchObject({ status: 'completed', tasks: [{ attempts: 2 }] });
    });
  });

  test('async tasks that completed before its workflow was lost do not run again', async () => {
    const survey = loadCrews('test/fixtures/crews').crews.get('survey')!;
    const tasks = survey.tasks.map(({ name, agent }) => {
      const task = { task_id: name, agent, status: 'pending' as const, attempts: 0, output: null, model: null };
      if (name === 'north') return { ...task, status: 'running' as const, attempts: 1 };
      return name === 'south' ? { ...task, status: 'completed' as const, attempts: 1, output: 'Cliffs.' } : task;
    });
    const inputs = JSON.stringify({ coast: 'Frisia' });
    const id = await addExecution({}, undefined, { crew: survey.name, definition: survey, inputs, tasks });
    await withWorker(async () => {
      await createStarters(env.client).startCrew((await executions.getById(ORG, id))!);
      expect(await env.client.workflow.getHandle(`crew/${id}`).result()).toEqual({ status: 'completed' });
    });
    const ended = (await executions.getById(ORG, id))!;
    expect(ended.tasks.map(({ attempts, status }) => [attempts, status])).toEqual(tasks.map(() => [1, 'completed']));
    expect(ended.tasks.find(({ task_id }) => task_id === 'south')!.output).toBe('Cliffs.');
  });
});
