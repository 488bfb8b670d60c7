import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { newDeliveryId } from '../../domain/ids.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { connectTemporal } from '../../temporal/connection.js';
import { workflowBundle } from '../../worker/bundle.js';
import { installTemporalLogger } from '../../worker/logging.js';
import { createDeliveryHarness, type DeliveryHarness } from '../support/delivery-harness.js';
import { collectionsDuringTests, duringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { databaseBeside, sharedProduct } from '../support/product.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { deliveryRecord } from '../support/records.js';

// The activities of two worker processes, over the same records.
describe('an attempt that another worker has begun', () => {
  const { mongodbUri, temporalAddress } = sharedProduct();
  const org = 'claims';
  const collections = collectionsDuringTests(databaseBeside(mongodbUri, 'claims'));
  const first = duringTests(() => createDeliveryHarness(collections));
  const second = duringTests(() => createDeliveryHarness(collections));
  let receiver: Receiver;
  /** Lets the receiver respond to the first request. */
  let release: () => void;
  beforeAll(() => installTemporalLogger(pino({ level: 'silent' })));
  beforeEach(async () => {
    await receiver?.close();
    receiver = await startReceiver();
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    receiver.hold = () => (receiver.received.length === 1 ? held : Promise.resolve());
    receiver.respond = (_request, count) => ({ status: count === 1 ? 204 : 500 });
    // Both workers sign with the same registration, which is not signed.
    await first.registrations.register(org, receiver.url, ['indexing.status_changed']);
  });
  afterEach(async () => {
    release();
    await Promise.all([first.stop(), second.stop()]);
  });
  afterAll(() => receiver?.close());

  async function pending(): Promise<{ delivery: string; org: string }> {
    const record = deliveryRecord({ _id: newDeliveryId(new Date()), org, now: new Date() });
    await collections.deliveries.insertOne(record);
    return { delivery: record._id, org };
  }
  const read = async (id: string): Promise<DeliveryRecord> => (await collections.deliveries.findOne({ _id: id }))!;

  test('is retried when its outcome says, and not when its claim would have expired', async () => {
    const temporal: Client = await connectTemporal(temporalAddress, 'default');
    const connection = await NativeConnection.connect({ address: temporalAddress });
    // The first attempt does not time out before the second worker has looked, however slow the machine is.
    const options = { scheduleMs: [100], timeoutMs: 300_000 };
    const worker = await Worker.create({
      connection,
      taskQueue: 'claims',
      workflowBundle: await workflowBundle(),
      activities: {
        deliverAtOnce: first.activities(options).deliverAtOnce,
        followDelivery: second.activities(options).followDelivery,
      },
    });
    // The first attempt outlives its workflow task, and fails after the second worker has looked at it.
    receiver.respond = (_request, count) => ({ status: count === 1 ? 500 : 204 });
    const ref = await pending();
    await worker.runUntil(async () => {
      const handle = await temporal.workflow.start('deliverWebhook', {
        taskQueue: 'claims',
        workflowId: `delivery/${ref.delivery}`,
        args: [ref],
      });
      await receiver.waitFor('the first attempt', () => true);
      const { next_attempt_at } = await read(ref.delivery);
      await eventually('the second worker looked', async () => {
        const [activity] = (await handle.describe()).raw.pendingActivities ?? [];
        return activity?.lastFailure;
      });
      release();
      expect(await handle.result()).toBe('delivered');
      const [, retry] = (await read(ref.delivery)).attempt_log;
      expect(retry!.at.getTime()).toBeLessThan(next_attempt_at!.getTime());
    });
    await connection.close();
    await temporal.connection.close();
  });

  test('is not reported with its own outcome when another worker has taken over its claim', async () => {
    const ref = await pending();
    receiver.respond = (_request, count) => ({ status: count === 1 ? 204 : 500 });
    const slow = first.activities({}).followDelivery(ref);
    await receiver.waitFor('the slow attempt', () => true);
    receiver.respond = () => ({ status: 410 });
    await collections.deliveries.updateOne({ _id: ref.delivery }, { $set: { next_attempt_at: new Date(1) } });
    expect(await second.activities({}).followDelivery(ref)).toBe('permanently_failed');
    receiver.respond = () => ({ status: 204 });
    release();
    expect(await slow).toBe('permanently_failed');
    expect(await read(ref.delivery)).toMatchObject({ status: 'permanently_failed', attempts: 2 });
  });

  test('is not repeated when its outcome cannot be stored for a moment', async () => {
    const ref = await pending();
    release();
    let failures = 0;
    const deliveryQueue = {
      async record(...outcomes: Parameters<DeliveryHarness['deliveryQueue']['record']>) {
        if (failures++ < 2) throw new Error('no primary');
        return first.deliveryQueue.record(...outcomes);
      },
    };
    expect(await first.activities({ deliveryQueue }).followDelivery(ref)).toBe('delivered');
    expect(failures).toBe(3);
    expect(receiver.received).toHaveLength(1);
    expect(await read(ref.delivery)).toMatchObject({ status: 'delivered', attempts: 1 });
  });

  test('is due again at once when that worker stops during the attempt', async () => {
    const ref = await pending();
    const stopping = createDeliveryHarness(collections);
    const cancelled = stopping.activities({}).followDelivery(ref);
    await receiver.waitFor('the attempt', () => true);
    receiver.respond = () => ({ status: 204 });
    await Promise.all([expect(cancelled).rejects.toThrow(), stopping.close()]);
    const released = await read(ref.delivery);
    expect(released).toMatchObject({ status: 'pending', attempts: 1 });
    expect(released.next_attempt_at!.getTime()).toBeLessThanOrEqual(Date.now());
    expect(await second.activities({}).followDelivery(ref)).toBe('delivered');
  });
});
