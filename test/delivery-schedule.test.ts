import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { createAiJobCallback } from '../activities/callbacks/ai-job.js';
import { createCrewCallbacks } from '../activities/callbacks/crew.js';
import { createIndexingCallback } from '../activities/callbacks/indexing.js';
import { createDeliveryActivities } from '../activities/deliver-webhook.js';
import { parseAllowedCidrs } from '../domain/address-rules.js';
import { INDEXING_DELIVERY_POLICY } from '../domain/delivery-policy.js';
import { newDeliveryId } from '../domain/ids.js';
import { createSealer } from '../domain/sealing.js';
import { createOutboundClient } from '../providers/outbound/guarded-client.js';
import { type AiJobs, createAiJobs } from '../storage/ai-jobs.js';
import { createDeliveries, type Deliveries, pendingDelivery } from '../storage/deliveries.js';
import { connectMongo, type Mongo } from '../storage/mongo.js';
import { createRegistrations, type Registrations } from '../storage/registrations.js';
import { createSigningKeys, type SigningKeys } from '../storage/signing-keys.js';
import { workflowBundle } from '../worker/bundle.js';
import { createWorkerMetrics } from '../worker/metrics.js';
import { eventually } from './support/eventually.js';
import { sharedProduct } from './support/product.js';
import { type Receiver, startReceiver } from './support/receiver.js';
import { aiJobRecord, deliveryRecord } from './support/records.js';
import { startTimeSkipping } from './support/time-skipping.js';

const HOUR_MS = 60 * 60 * 1000;

// Hours and days on the time-skipping server; MongoDB, HTTP and the activities are the real ones.
describe('the delivery schedule', () => {
  let env: TestWorkflowEnvironment;
  let worker: Worker;
  let running: Promise<void>;
  let mongo: Mongo;
  let deliveries: Deliveries;
  let receiver: Receiver;
  let registrations: Registrations;
  let aiJobs: AiJobs;
  let signingKeys: SigningKeys;
  const sealer = createSealer(randomBytes(32).toString('base64'));
  const outbound = createOutboundClient({ allowedCidrs: parseAllowedCidrs('127.0.0.0/8') });
  const log = pino({ level: 'silent' });
  const org = `schedule-${randomBytes(4).toString('hex')}`;

  beforeAll(async () => {
    env = await startTimeSkipping();
    mongo = await connectMongo(sharedProduct().mongodbUri, 'postback-test');
    deliveries = createDeliveries(mongo);
    receiver = await startReceiver();
    registrations = createRegistrations(mongo, sealer);
    // The keys in the product's own database are sealed with another key.
    signingKeys = createSigningKeys(
      { ...mongo, signingKeys: mongo.db.collection('signing_keys_of_the_schedule') },
      sealer,
    );
    aiJobs = createAiJobs(mongo, 30 * 24 * HOUR_MS);
    await registrations.replace(org, receiver.url, ['indexing.status_changed'], 'a secret of 16 or more');
    worker = await startWorker('deliveries', null);
    running = worker.run();
  });

  afterAll(async () => {
    worker?.shutdown();
    await running;
    await env?.teardown();
    await receiver?.close();
    await outbound.close();
    await mongo?.client.close();
  });

  async function startWorker(taskQueue: string, disableAfterMs: number | null): Promise<Worker> {
    return Worker.create({
      connection: env.nativeConnection,
      taskQueue,
      workflowBundle: await workflowBundle(),
      activities: createDeliveryActivities({
        deliveries,
        callbacks: {
          ...createCrewCallbacks({ registrations }),
          async_job_completed: createAiJobCallback({ aiJobs, signingKeys }),
          'indexing.status_changed': createIndexingCallback({
            registrations,
            policy: INDEXING_DELIVERY_POLICY,
            disableAfterMs,
            log,
          }),
        },
        outbound,
        metrics: createWorkerMetrics(),
        log,
        random: () => 0.5,
        now: async () => new Date(await env.currentTimeMs()),
      }).activities,
    });
  }

  beforeEach(() => {
    receiver.received.length = 0;
  });

  async function pending(owner = org) {
    const record = deliveryRecord({ _id: newDeliveryId(), org: owner, now: new Date(await env.currentTimeMs()) });
    await mongo.deliveries.insertOne(record);
    return record;
  }

  const deliver = (id: string, owner = org, taskQueue = 'deliveries'): Promise<string> =>
    env.client.workflow.execute('deliverWebhook', {
      taskQueue,
      workflowId: `delivery/${id}`,
      args: [{ delivery: id, org: owner }],
    });

  /** Seconds between the attempts of a delivery. */
  async function waits(id: string): Promise<number[]> {
    const at = (await deliveries.get(id))!.attempt_log.map((entry) => entry.at.getTime());
    return at.slice(1).map((time, n) => Math.round((time - at[n]!) / 1000));
  }

  test('a receiver that accepts at once gets one request and the delivery is delivered', async () => {
    receiver.answer = () => ({ status: 200, body: 'thanks' });
    const { _id } = await pending();
    expect(await deliver(_id)).toBe('delivered');
    const record = (await deliveries.get(_id))!;
    expect(record).toMatchObject({ status: 'delivered', attempts: 1, next_attempt_at: null, error_message: null });
    expect(record.attempt_log).toMatchObject([{ status_code: 200, error: null, answer: 'thanks' }]);
    expect(receiver.received).toHaveLength(1);
  });

  test('a receiver that always fails gets eight requests over about 27 hours, then the delivery is given up', async () => {
    receiver.answer = () => ({ status: 500 });
    const { _id } = await pending();
    expect(await deliver(_id)).toBe('permanently_failed');
    const record = (await deliveries.get(_id))!;
    expect(record).toMatchObject({
      status: 'permanently_failed',
      attempts: 8,
      error_code: 'HTTP_500',
      next_attempt_at: null,
    });
    const expected = [5, 300, 1800, 7200, 18000, 36000, 36000];
    const seen = await waits(_id);
    expect(seen).toHaveLength(expected.length);
    for (const [n, wait] of expected.entries()) {
      expect(seen[n]).toBeGreaterThanOrEqual(wait);
      expect(seen[n]).toBeLessThanOrEqual(wait * 1.1 + 10);
    }
  });

  test('a receiver that recovers is delivered to and not asked again', async () => {
    receiver.answer = (_request, count) => ({ status: count < 4 ? 503 : 204 });
    const { _id } = await pending();
    expect(await deliver(_id)).toBe('delivered');
    expect((await deliveries.get(_id))!).toMatchObject({ status: 'delivered', attempts: 4, error_code: null });
    const ids = receiver.received.map((request) => request.headers['x-service-delivery-id']);
    expect(ids).toEqual([_id, _id, _id, _id]);
  });

  test('a delivery that got 410 is permanently failed and not tried again', async () => {
    receiver.answer = () => ({ status: 410 });
    const { _id } = await pending();
    expect(await deliver(_id)).toBe('permanently_failed');
    expect(receiver.received).toHaveLength(1);
  });

  test('Retry-After of a 429 is obeyed instead of the schedule, and limited to a day', async () => {
    const asked = ['90', '1000000'];
    receiver.answer = (_request, count) => {
      const wait = asked[count - 1];
      return wait === undefined ? { status: 204 } : { status: 429, headers: { 'Retry-After': wait } };
    };
    const { _id } = await pending();
    expect(await deliver(_id)).toBe('delivered');
    const [first, second] = await waits(_id);
    expect(first).toBeGreaterThanOrEqual(90);
    expect(first).toBeLessThanOrEqual(100);
    expect(second).toBeGreaterThanOrEqual(86_400);
    expect(second).toBeLessThanOrEqual(86_410);
  });

  test('a delivery whose registration is gone when it is due is permanently failed', async () => {
    const record = deliveryRecord({
      _id: newDeliveryId(),
      org: `${org}-unregistered`,
      now: new Date(await env.currentTimeMs()),
    });
    await mongo.deliveries.insertOne(record);
    expect(await deliver(record._id, record.org)).toBe('permanently_failed');
    expect((await deliveries.get(record._id))!).toMatchObject({
      error_code: 'WEBHOOK_NOT_FOUND',
      status: 'permanently_failed',
    });
  });

  test('a receiver that has failed for longer than is allowed is sent nothing more until it is registered again', async () => {
    const failing = `${org}-failing`;
    const register = () => registrations.replace(failing, receiver.url, ['indexing.status_changed']);
    const strict = await startWorker('strict', 15 * HOUR_MS);
    receiver.answer = () => ({ status: 500 });
    await register();
    await strict.runUntil(async () => {
      // The attempts at 0 s, 5 s, 5 min, 35 min, 2.6 h and 7.6 h are within bounds, the one at 17.6 h is the last.
      const { _id } = await pending(failing);
      expect(await deliver(_id, failing, 'strict')).toBe('permanently_failed');
      expect(receiver.received).toHaveLength(7);
      expect(await deliveries.get(_id)).toMatchObject({ error_code: 'WEBHOOK_DISABLED', attempts: 7 });
      expect((await registrations.get(failing))!.disabled_at).toBeInstanceOf(Date);

      await register();
      receiver.answer = () => ({ status: 204 });
      const again = await pending(failing);
      expect(await deliver(again._id, failing, 'strict')).toBe('delivered');
    });
  });

  describe('the callback of an AI job', () => {
    /** A job that has ended, with its delivery. */
    async function endedJob(): Promise<string> {
      const now = new Date(await env.currentTimeMs());
      const job = aiJobRecord({ org, webhook_receiver: receiver.url, signing_key: await signingKeys.current(), now });
      await aiJobs.add({ ...job, status: 'fail', error_message: 'It did not work.', finished_at: now });
      const announcement = {
        _id: newDeliveryId(),
        org,
        subject: `ai-job/${job._id}`,
        doc_id: job._id,
        url: receiver.url,
      };
      await mongo.deliveries.insertOne(pendingDelivery({ ...announcement, event_type: 'async_job_completed', now }));
      return announcement._id;
    }

    test('is tried again three times after 5xx, at most 30 s apart, always with the same bytes', async () => {
      receiver.answer = () => ({ status: 503, headers: { 'Retry-After': '3600' } });
      const flooded = await endedJob();
      expect(await deliver(flooded)).toBe('permanently_failed');
      expect(await waits(flooded)).toEqual([expect.closeTo(30, -1), expect.closeTo(30, -1), expect.closeTo(30, -1)]);
      receiver.answer = () => ({ status: 500 });
      receiver.received.length = 0;
      const id = await endedJob();
      expect(await deliver(id)).toBe('permanently_failed');
      const [first, second, third] = await waits(id);
      expect(first).toBeGreaterThanOrEqual(2);
      expect(second).toBeGreaterThanOrEqual(8);
      expect(third).toBeGreaterThanOrEqual(30);
      expect(receiver.received).toHaveLength(4);
      const [request, ...others] = receiver.received.map(({ body, headers }) => [
        body.toString(),
        headers['x-service-signature'],
      ]);
      for (const other of others) expect(other).toEqual(request);
    });

    test.each([302, 400, 401, 404, 410, 429])('is given up at once after %i', async (status) => {
      receiver.answer = () => ({ status });
      expect(await deliver(await endedJob())).toBe('permanently_failed');
      expect(receiver.received).toHaveLength(1);
    });

    test('is tried again after a connection error', async () => {
      receiver.answer = () => ({ status: 204 });
      const id = await endedJob();
      const { port } = new URL(receiver.url);
      await receiver.close();
      const delivered = deliver(id);
      await eventually('a refused attempt', async () => (await deliveries.get(id))!.attempts > 0);
      receiver = await startReceiver(Number(port));
      expect(await delivered).toBe('delivered');
      expect((await deliveries.get(id))!.attempt_log[0]).toMatchObject({ error: 'connection refused' });
    });

    test('that cannot be made ends like one that fails, and does not stay in the middle of an attempt', async () => {
      const now = new Date(await env.currentTimeMs());
      const job = aiJobRecord({ org, webhook_receiver: receiver.url, signing_key: 'sig_lost', now });
      await aiJobs.add({ ...job, status: 'fail', finished_at: now });
      const announcement = {
        _id: newDeliveryId(),
        org,
        subject: `ai-job/${job._id}`,
        doc_id: job._id,
        url: receiver.url,
      };
      await mongo.deliveries.insertOne(pendingDelivery({ ...announcement, event_type: 'async_job_completed', now }));
      expect(await deliver(announcement._id)).toBe('permanently_failed');
      const record = (await deliveries.get(announcement._id))!;
      expect(record).toMatchObject({ error_code: 'INTERNAL_ERROR', attempts: 0, failures: 4 });
      expect(record.attempt_log).toHaveLength(4);
      expect(record.expires_at).toBeInstanceOf(Date);
      expect(receiver.received).toHaveLength(0);
    });
  });
});
