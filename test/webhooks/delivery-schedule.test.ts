import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { newDeliveryId } from '../../domain/ids.js';
import type { Collections } from '../../storage/collections.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { pendingDelivery } from '../../storage/webhooks/new-delivery.js';
import { workflowBundle } from '../../worker/bundle.js';
import { createDeliveryHarness, type DeliveryHarness } from '../support/delivery-harness.js';
import { eventually } from '../support/eventually.js';
import { testCollections } from '../support/mongodb.js';
import { databaseBeside, sharedProduct } from '../support/product.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { aiJobRecord, deliveryRecord } from '../support/records.js';
import { startTimeSkipping } from '../support/time-skipping.js';

const HOUR_MS = 60 * 60 * 1000;
/** Seconds that a busy machine may add to a wait. Far less than the difference between two waits of a schedule. */
const SLACK = 120;

// Hours and days pass on the time-skipping server; MongoDB, HTTP and the activities are real.
describe('the delivery schedule', () => {
  let env: TestWorkflowEnvironment;
  let worker: Worker;
  let running: Promise<void>;
  let collections: Collections;
  let harness: DeliveryHarness;
  let receiver: Receiver;
  const org = 'schedule';

  beforeAll(async () => {
    env = await startTimeSkipping();
    collections = await testCollections(databaseBeside(sharedProduct().mongodbUri, 'delivery-schedule'));
    harness = createDeliveryHarness(collections);
    receiver = await startReceiver();
    await harness.registrations.register(org, receiver.url, ['indexing.status_changed'], 'a secret of 16 or more');
    worker = await startWorker('deliveries', null);
    running = worker.run();
  });

  afterAll(async () => {
    worker?.shutdown();
    await running;
    await env?.teardown();
    await receiver?.close();
    await harness?.close();
  });

  async function startWorker(taskQueue: string, disableAfterMs: number | null, from = harness): Promise<Worker> {
    return Worker.create({
      connection: env.nativeConnection,
      taskQueue,
      workflowBundle: await workflowBundle(),
      activities: from.activities({ disableAfterMs, now: async () => new Date(await env.currentTimeMs()) }),
    });
  }

  beforeEach(() => {
    receiver.received.length = 0;
  });

  const recordOf = (id: string, { deliveries } = collections) => deliveries.findOne({ _id: id });

  async function pending(owner = org, { deliveries } = collections, fields: Partial<DeliveryRecord> = {}) {
    const now = new Date(await env.currentTimeMs());
    const record = { ...deliveryRecord({ _id: newDeliveryId(new Date()), org: owner, now }), ...fields };
    await deliveries.insertOne(record);
    return record;
  }

  /** Starts a delivery. Time is skipped only while a test waits for its result. */
  const start = (id: string, owner = org, taskQueue = 'deliveries') =>
    env.client.workflow.start('deliverWebhook', {
      taskQueue,
      workflowId: `delivery/${id}`,
      args: [{ delivery: id, org: owner }],
    });
  const deliver = async (...delivery: Parameters<typeof start>): Promise<string> => (await start(...delivery)).result();

  /** @returns seconds between the attempts of a delivery, without those that a client asked for */
  async function waits(id: string, manual: readonly number[] = []): Promise<number[]> {
    const log = (await recordOf(id))!.attempt_log.filter((_, n) => !manual.includes(n));
    const at = log.map((entry) => entry.at.getTime());
    return at.slice(1).map((time, n) => Math.round((time - at[n]!) / 1000));
  }
  function expectWaits(seen: number[], scheduled: number[]): void {
    expect(seen).toHaveLength(scheduled.length);
    for (const [n, wait] of scheduled.entries()) {
      expect(seen[n]).toBeGreaterThanOrEqual(wait);
      expect(seen[n]).toBeLessThanOrEqual(wait + SLACK);
    }
  }

  test('a delivery that is accepted at once takes one request', async () => {
    receiver.respond = () => ({ status: 200, body: 'thanks' });
    const { _id } = await pending();
    expect(await deliver(_id)).toBe('delivered');
    const record = (await recordOf(_id))!;
    expect(record).toMatchObject({ status: 'delivered', attempts: 1, next_attempt_at: null, error_message: null });
    expect(record.attempt_log).toMatchObject([{ status_code: 200, error: null, answer: 'thanks' }]);
    expect(receiver.received).toHaveLength(1);
  });

  test('a delivery that always fails is attempted eight times over about 28 hours, then permanently failed', async () => {
    receiver.respond = () => ({ status: 500 });
    const { _id } = await pending();
    expect(await deliver(_id)).toBe('permanently_failed');
    const record = (await recordOf(_id))!;
    expect(record).toMatchObject({
      status: 'permanently_failed',
      attempts: 8,
      error_code: 'HTTP_500',
      next_attempt_at: null,
    });
    expectWaits(await waits(_id), [5, 300, 1800, 7200, 18000, 36000, 36000]);
  });

  test('a receiver that recovers gets the delivery, and no further request', async () => {
    receiver.respond = (_request, count) => ({ status: count < 4 ? 503 : 204 });
    const { _id } = await pending();
    expect(await deliver(_id)).toBe('delivered');
    expect((await recordOf(_id))!).toMatchObject({
      status: 'delivered',
      attempts: 4,
      error_code: null,
    });
    const ids = receiver.received.map((request) => request.headers['x-service-delivery-id']);
    expect(ids).toEqual([_id, _id, _id, _id]);
  });

  test('a delivery that got 410 is permanently failed and not retried', async () => {
    receiver.respond = () => ({ status: 410 });
    const { _id } = await pending();
    expect(await deliver(_id)).toBe('permanently_failed');
    expect(receiver.received).toHaveLength(1);
  });

  test('Retry-After of a 429 replaces the schedule, limited to a day', async () => {
    const retryAfter = ['90', '1000000'];
    receiver.respond = (_request, count) => {
      const wait = retryAfter[count - 1];
      return wait === undefined ? { status: 204 } : { status: 429, headers: { 'Retry-After': wait } };
    };
    const { _id } = await pending();
    expect(await deliver(_id)).toBe('delivered');
    expectWaits(await waits(_id), [90, 86_400]);
  });

  test('a manual retry does not use up the automatic schedule', async () => {
    receiver.respond = () => ({ status: 500 });
    // After its first failure: the wait of five seconds could end before the retries of the client.
    const { _id } = await pending(org, collections, { failures: 1 });
    // The sender of the worker finds the delivery by itself.
    const attempted = (attempts: number) =>
      eventually(`attempt ${attempts}`, async () => {
        const record = await recordOf(_id);
        return record?.status === 'failed' && record.attempts === attempts && record.error_code === 'HTTP_500';
      });
    await attempted(1);
    for (const attempts of [2, 3]) {
      expect(await harness.clientDeliveries.requeue({ org: org, events: ['indexing.status_changed'] }, _id)).toBe(true);
      await attempted(attempts);
    }
    expect(await deliver(_id)).toBe('permanently_failed');
    const record = (await recordOf(_id))!;
    expect(record).toMatchObject({ attempts: 9, failures: 8 });
    // Seven automatic attempts, at the times that they have without the two of the client between the first and the second.
    expectWaits(await waits(_id, [1, 2]), [300, 1800, 7200, 18000, 36000, 36000]);
  });

  test('a manual retry of a delivery that was given up starts the schedule again', async () => {
    receiver.respond = () => ({ status: 500 });
    const { _id } = await pending();
    expect(await deliver(_id)).toBe('permanently_failed');
    expect(await harness.clientDeliveries.requeue({ org: org, events: ['indexing.status_changed'] }, _id)).toBe(true);
    expect(await deliver(_id)).toBe('permanently_failed');
    expect((await waits(_id)).length).toBe(15);
    expectWaits((await waits(_id)).slice(8), [5, 300, 1800, 7200, 18000, 36000, 36000]);
  });

  test('a delivery whose registration was deleted before it is due is permanently failed', async () => {
    const record = await pending(`${org}-unregistered`);
    expect(await deliver(record._id, record.org)).toBe('permanently_failed');
    expect((await recordOf(record._id))!).toMatchObject({
      error_code: 'WEBHOOK_NOT_FOUND',
      status: 'permanently_failed',
    });
  });

  test('a receiver that fails for too long gets no more requests until it is registered again', async () => {
    const failing = `${org}-failing`;
    // The sender of the other worker serves every delivery of its database, by another rule.
    const own = await testCollections(databaseBeside(sharedProduct().mongodbUri, 'delivery-schedule-strict'));
    const strictHarness = createDeliveryHarness(own);
    const register = () => strictHarness.registrations.register(failing, receiver.url, ['indexing.status_changed']);
    const strict = await startWorker('strict', 15 * HOUR_MS, strictHarness);
    receiver.respond = () => ({ status: 500 });
    await register();
    await strict.runUntil(async () => {
      const first = await pending(failing, own);
      const running = [await start(first._id, failing, 'strict')];
      await env.sleep(1.5 * HOUR_MS);
      const second = await pending(failing, own);
      running.push(await start(second._id, failing, 'strict'));
      for (const delivery of running) expect(await delivery.result()).toBe('permanently_failed');
      // The attempts of the first delivery at 0 s, 5 s, 5 min, 35 min, 2.6 h and 7.6 h are within bounds, and the attempt
      // at 17.6 h is the last.
      expect(await recordOf(first._id, own)).toMatchObject({
        error_code: 'WEBHOOK_DISABLED',
        attempts: 7,
      });
      expect(await recordOf(second._id, own)).toMatchObject({ error_code: 'WEBHOOK_DISABLED' });
      expect((await strictHarness.registrations.findForOrg(failing))!.disabled_at).toBeInstanceOf(Date);

      await register();
      receiver.respond = () => ({ status: 204 });
      const again = await pending(failing, own);
      expect(await deliver(again._id, failing, 'strict')).toBe('delivered');
    });
    await strictHarness.close();
  });

  describe('the callback of an AI job', () => {
    /** A failed job with its delivery. @returns the delivery's id */
    async function endedJob(signing_key?: string): Promise<string> {
      const now = new Date(await env.currentTimeMs());
      const job = aiJobRecord({
        org,
        webhook_receiver: receiver.url,
        signing_key: signing_key ?? (await harness.signingKeys.currentId(org)),
        now,
      });
      await harness.aiJobs.add({ ...job, status: 'fail', error_message: 'It did not work.', finished_at: now });
      const delivery = {
        _id: newDeliveryId(new Date()),
        org,
        dedupe_key: `ai-job/${job._id}`,
        doc_id: job._id,
        url: receiver.url,
      };
      await collections.deliveries.insertOne(
        pendingDelivery({ ...delivery, event_type: 'async_job_completed', now }, true),
      );
      return delivery._id;
    }

    test('is retried three times after 5xx, at most 30 s apart, always with the same bytes', async () => {
      receiver.respond = () => ({ status: 503, headers: { 'Retry-After': '3600' } });
      const flooded = await endedJob();
      expect(await deliver(flooded)).toBe('permanently_failed');
      expectWaits(await waits(flooded), [30, 30, 30]);
      receiver.respond = () => ({ status: 500 });
      receiver.received.length = 0;
      const id = await endedJob();
      expect(await deliver(id)).toBe('permanently_failed');
      expectWaits(await waits(id), [2, 8, 30]);
      expect(receiver.received).toHaveLength(4);
      const [request, ...others] = receiver.received.map(({ body, headers }) => [
        body.toString(),
        headers['x-service-signature'],
      ]);
      for (const other of others) expect(other).toEqual(request);
    });

    test.each([302, 400, 401, 404, 410, 429])('is permanently failed at once after %i', async (status) => {
      receiver.respond = () => ({ status });
      expect(await deliver(await endedJob())).toBe('permanently_failed');
      expect(receiver.received).toHaveLength(1);
    });

    test('is retried after a connection error', async () => {
      receiver.respond = () => ({ status: 204 });
      const id = await endedJob();
      const { port } = new URL(receiver.url);
      await receiver.close();
      const delivery = await start(id);
      await eventually('a failed attempt', async () => (await recordOf(id))!.attempt_log.length > 0);
      receiver = await startReceiver(Number(port));
      expect(await delivery.result()).toBe('delivered');
      expect((await recordOf(id))!.attempt_log[0]).toMatchObject({ error: 'connection refused' });
    });

    test('that cannot be built is retried and then permanently failed, and does not stay in the state sweeping', async () => {
      const id = await endedJob('sig_lost');
      expect(await deliver(id)).toBe('permanently_failed');
      const record = (await recordOf(id))!;
      expect(record).toMatchObject({ error_code: 'INTERNAL_ERROR', attempts: 0, failures: 4 });
      expect(record.attempt_log).toHaveLength(4);
      expect(record.expires_at).toBeInstanceOf(Date);
      expect(receiver.received).toHaveLength(0);
    });
  });
});
