import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client as TemporalClient } from '@temporalio/client';
import { createReceiverLoad } from '../activities/receiver-load.js';
import { newDeliveryId } from '../domain/ids.js';
import { connectMongo, type Mongo } from '../storage/mongo.js';
import { connectTemporal } from '../temporal/connection.js';
import { createLauncher } from '../temporal/launcher.js';
import { DELIVERY_TUNING } from '../worker/workers.js';
import { createClient } from './support/client.js';
import { eventually } from './support/eventually.js';
import { makeKey, sharedProduct } from './support/product.js';
import { type Receiver, startReceiver } from './support/receiver.js';
import { deliveryRecord } from './support/records.js';

describe('a receiver that hangs', () => {
  const { apiUrl, mongodbUri, temporalAddress } = sharedProduct();
  const HANGING = 150;
  let mongo: Mongo;
  let temporal: TemporalClient;
  let hanging: Server;
  let asked = 0;
  let healthy: Receiver;

  beforeAll(async () => {
    mongo = await connectMongo(mongodbUri, 'postback-test');
    temporal = await connectTemporal(temporalAddress, 'default');
    hanging = createServer(() => {
      asked += 1;
    }).listen(0, '127.0.0.1');
    await once(hanging, 'listening');
    healthy = await startReceiver();
    const urls = { slow: `http://127.0.0.1:${(hanging.address() as AddressInfo).port}/`, quick: healthy.url };
    for (const [org, url] of Object.entries(urls)) {
      await createClient(apiUrl, (await makeKey(mongodbUri, org)).key).post('/webhooks/indexing', { url });
    }
  });

  afterAll(async () => {
    hanging.closeAllConnections();
    hanging.close();
    await healthy.close();
    await temporal.connection.close();
    await mongo.client.close();
  });

  test('harms only itself: another receiver gets its delivery before one of the hanging attempts has ended', async () => {
    const launcher = createLauncher(temporal);
    const now = new Date();
    const stuck = Array.from({ length: HANGING }, () => deliveryRecord({ _id: newDeliveryId(), org: 'slow', now }));
    const other = deliveryRecord({ _id: newDeliveryId(), org: 'quick', now });
    await mongo.deliveries.insertMany([...stuck, other]);
    await Promise.all(stuck.map((delivery) => launcher.startDelivery(delivery)));
    await launcher.startDelivery(other);
    await healthy.waitFor('the healthy delivery', ({ json }) => json.delivery_id === other._id);
    const ended = await mongo.deliveries.countDocuments({ org: 'slow', 'attempt_log.0': { $exists: true } });
    expect(ended).toBe(0);
    expect(asked).toBeGreaterThan(0);
    // What one organisation may have under way at once, as long as its receiver is not known to be slow.
    expect(asked).toBeLessThanOrEqual(50);
  });

  test('many of them together leave half of the slots to the retries of others', async () => {
    const load = createReceiverLoad(1);
    const never = new Promise<void>(() => undefined);
    const slow = Array.from({ length: 100 }, (_, n) => `slow-${n}`);
    for (const receiver of slow) void load.track(receiver, () => never);
    await eventually('all are known to be slow', () => !slow.some((receiver) => load.isQuick(receiver)));
    let underWay = slow.length;
    for (const receiver of slow) {
      for (; load.hasRoom(receiver); underWay += 1) void load.track(receiver, () => never);
    }
    expect(underWay).toBeGreaterThan(slow.length);
    expect(underWay).toBeLessThanOrEqual(DELIVERY_TUNING.maxConcurrentActivityTaskExecutions! / 2);
    expect(load.hasRoom('quick')).toBe(true);
  });
});
