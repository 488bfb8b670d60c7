import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { createReceiverLoad } from '../../activities/webhooks/receiver-load.js';
import { newDeliveryId } from '../../domain/ids.js';
import { type Collections, connectCollections } from '../../storage/collections.js';
import { connectTemporal } from '../../temporal/connection.js';
import { workflowBundle } from '../../worker/bundle.js';
import { installTemporalLogger } from '../../worker/logging.js';
import { DELIVERY_TUNING } from '../../worker/workers.js';
import { createDeliveryHarness, type DeliveryHarness } from '../support/delivery-harness.js';
import { eventually } from '../support/eventually.js';
import { databaseBeside, sharedProduct } from '../support/product.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { deliveryRecord } from '../support/records.js';

const HANGING = 150;
/** Longer than the test, so that no attempt times out. */
const NEVER_MS = 60 * 60 * 1000;

// Uses its own worker, because the product does not wait this long for a receiver.
describe('a receiver that hangs', () => {
  const { mongodbUri, temporalAddress } = sharedProduct();
  const taskQueue = 'slow-receivers';
  let collections: Collections;
  let temporal: Client;
  let connection: NativeConnection;
  let harness: DeliveryHarness;
  let worker: Worker;
  let running: Promise<void>;
  let hanging: Server;
  let requests = 0;
  let healthy: Receiver;

  beforeAll(async () => {
    installTemporalLogger(pino({ level: 'silent' }));
    collections = await connectCollections(databaseBeside(mongodbUri, 'slow-receivers'), 'postback-test');
    temporal = await connectTemporal(temporalAddress, 'default');
    connection = await NativeConnection.connect({ address: temporalAddress });
    hanging = createServer(() => {
      requests += 1;
    }).listen(0, '127.0.0.1');
    await once(hanging, 'listening');
    healthy = await startReceiver();
    harness = createDeliveryHarness(collections);
    const urls = { slow: `http://127.0.0.1:${(hanging.address() as AddressInfo).port}/`, quick: healthy.url };
    for (const [org, url] of Object.entries(urls))
      await harness.registrations.register(org, url, ['indexing.status_changed']);
    worker = await Worker.create({
      connection,
      taskQueue,
      workflowBundle: await workflowBundle(),
      activities: harness.activities({ timeoutMs: NEVER_MS }),
      ...DELIVERY_TUNING,
    });
    running = worker.run();
  });

  afterAll(async () => {
    hanging?.closeAllConnections();
    hanging?.close();
    await harness?.close();
    worker?.shutdown();
    await running;
    await healthy?.close();
    await connection?.close();
    await temporal?.connection.close();
    await collections?.mongoClient.close();
  });

  async function start(org: string, count: number): Promise<string[]> {
    const records = Array.from({ length: count }, () => deliveryRecord({ _id: newDeliveryId(), org, now: new Date() }));
    await collections.deliveries.insertMany(records);
    const startOne = (delivery: string) =>
      temporal.workflow.start('deliverWebhook', {
        taskQueue,
        workflowId: `delivery/${delivery}`,
        args: [{ delivery, org }],
      });
    await Promise.all(records.map(({ _id }) => startOne(_id)));
    return records.map(({ _id }) => _id);
  }

  test('does not delay other receivers: a healthy receiver gets its delivery while all attempts at the first receiver hang', async () => {
    await start('slow', HANGING);
    // The limit is 50 attempts in progress, and 10 when the receiver is known to be slow.
    await eventually('hanging attempts', () => requests >= 10);
    const [other] = await start('quick', 1);
    await healthy.waitFor('the healthy delivery', ({ json }) => json.delivery_id === other);
    expect(await collections.deliveries.countDocuments({ org: 'slow', 'attempt_log.0': { $exists: true } })).toBe(0);
    expect(requests).toBeLessThanOrEqual(50);
  });

  test('many such receivers together leave half of the slots to other retries', async () => {
    const load = createReceiverLoad(1);
    const never = new Promise<void>(() => undefined);
    const slow = Array.from({ length: 100 }, (_, n) => `slow-${n}`);
    for (const receiver of slow) void load.track(receiver, () => never);
    await eventually('all receivers known to be slow', () => !slow.some((receiver) => load.isQuick(receiver)));
    let inProgress = slow.length;
    for (const receiver of slow) {
      for (; load.hasRoom(receiver); inProgress += 1) void load.track(receiver, () => never);
    }
    expect(inProgress).toBeGreaterThan(slow.length);
    expect(inProgress).toBeLessThanOrEqual(DELIVERY_TUNING.maxConcurrentActivityTaskExecutions! / 2);
    expect(load.hasRoom('quick')).toBe(true);
  });
});
