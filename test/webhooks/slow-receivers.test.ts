import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { createSenderLoad, type SenderLoad } from '../../activities/webhooks/sender-load.js';
import { newDeliveryId } from '../../domain/ids.js';
import type { Collections } from '../../storage/collections.js';
import { connectTemporal } from '../../temporal/connection.js';
import { workflowBundle } from '../../worker/bundle.js';
import { installTemporalLogger } from '../../worker/logging.js';
import { DELIVERY_SLOTS, DELIVERY_TUNING } from '../../worker/workers.js';
import { createDeliveryHarness, type DeliveryHarness } from '../support/delivery-harness.js';
import { eventually } from '../support/eventually.js';
import { testCollections } from '../support/mongodb.js';
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
  let recovered = false;
  const held: ServerResponse[] = [];
  let healthy: Receiver;

  beforeAll(async () => {
    installTemporalLogger(pino({ level: 'silent' }));
    collections = await testCollections(databaseBeside(mongodbUri, 'slow-receivers'));
    temporal = await connectTemporal(temporalAddress, 'default');
    connection = await NativeConnection.connect({ address: temporalAddress });
    hanging = createServer((_request, response) => {
      requests += 1;
      if (recovered) response.writeHead(204).end();
      else held.push(response);
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
  });

  async function start(org: string, count: number): Promise<string[]> {
    const records = Array.from({ length: count }, () =>
      deliveryRecord({ _id: newDeliveryId(new Date()), org, now: new Date() }),
    );
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

  test('gets its backlog when it has recovered, whenever Temporal asks for it', async () => {
    recovered = true;
    for (const response of held) response.writeHead(204).end();
    const delivered = () => collections.deliveries.countDocuments({ org: 'slow', status: 'delivered' });
    await eventually('the backlog is delivered', async () => (await delivered()) === HANGING);
  });
});

describe('the load of the sender', () => {
  const never = new Promise<void>(() => undefined);
  /** Starts an attempt that does not end. */
  const hang = (load: SenderLoad, org: string, receiver = org) => {
    expect(load.reserve(org, receiver, 1)).toBe(1);
    void load.use(org, receiver, () => never);
  };
  /** Makes the clock pass by hand, and the timers that mark slow receivers, at once. */
  async function allSlow(load: SenderLoad, receivers: readonly string[]): Promise<void> {
    for (const receiver of receivers) hang(load, receiver);
    await eventually('all receivers known to be slow', () => receivers.every((receiver) => load.isSlow(receiver)));
  }
  const named = (count: number) => Array.from({ length: count }, (_, n) => `slow-${n}`);

  test('leaves half of the places to others while many receivers are slow', async () => {
    const load = createSenderLoad(DELIVERY_SLOTS.all);
    const slow = named(100);
    await allSlow(load, slow);
    let inProgress = slow.length;
    for (const receiver of slow) for (; load.hasRoom(receiver); inProgress += 1) hang(load, receiver);
    expect(inProgress).toBeGreaterThan(slow.length);
    expect(inProgress).toBeLessThanOrEqual(DELIVERY_SLOTS.all / 2);
    expect(load.hasRoom('quick')).toBe(true);
  });

  test('costs a look for each of very many slow receivers, which count as quick again after a while', async () => {
    let now = 0;
    let looks = 0;
    const load = createSenderLoad(2_000, () => {
      looks += 1;
      return now;
    });
    const slow = named(1_000);
    await allSlow(load, slow);
    looks = 0;
    expect(slow.filter((receiver) => load.hasRoom(receiver))).toEqual([]);
    expect(looks).toBeLessThanOrEqual(2 * slow.length);
    expect(load.reserve('quick', 'quick', 10)).toBe(10);
    load.free('quick', 'quick', 10);
    load.free('slow-0', 'slow-0', 1);
    expect(load.hasRoom('slow-0')).toBe(true);
    now = 60_000;
    expect(slow.every((receiver) => load.hasRoom(receiver))).toBe(true);
  });

  test('leaves places for others while many receivers are just not slow', () => {
    const load = createSenderLoad(DELIVERY_SLOTS.all);
    for (const receiver of named(10)) while (load.hasRoom(receiver)) hang(load, receiver);
    expect(load.hasRoom('another')).toBe(true);
  });

  test('starts as many attempts in a second as the receiver asks for', () => {
    let now = 0;
    const rates: Record<string, number> = { three: 3, seldom: 0.5 };
    const load = createSenderLoad(
      500,
      () => now,
      (receiver) => rates[receiver],
    );
    const start = (receiver: string) => load.reserve('acme', receiver, 10);
    expect([start('three'), start('three'), start('seldom'), start('others')]).toEqual([3, 0, 1, 10]);
    now = 999;
    expect([start('three'), start('seldom')]).toEqual([0, 0]);
    now = 1_000;
    expect([start('three'), start('seldom')]).toEqual([3, 0]);
    // A place that is not used does not count.
    load.free('acme', 'three', 2);
    expect(start('three')).toBe(2);
    now = 2_000;
    expect(start('seldom')).toBe(1);
    delete rates.three;
    expect(start('three')).toBe(10);
  });
});
