import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { createReceiverLoad } from '../../activities/webhooks/receiver-load.js';
import { createWaitingDeliveries } from '../../activities/webhooks/waiting-deliveries.js';
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

  test('gets its backlog in order when it has recovered, without Temporal, which asks for one delivery a second', async () => {
    recovered = true;
    for (const response of held) response.writeHead(204).end();
    const delivered = () => collections.deliveries.countDocuments({ org: 'slow', status: 'delivered' });
    await eventually('the backlog is delivered', async () => (await delivered()) === HANGING);
    // Their workflows end when Temporal asks for them.
    const { count } = await temporal.workflow.count(`TaskQueue="${taskQueue}" AND ExecutionStatus="Running"`);
    expect(count).toBeGreaterThan(0);
  });

  test('many such receivers together leave half of the slots to other retries', async () => {
    const load = createReceiverLoad(1, DELIVERY_SLOTS);
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

  test('very many such receivers cost a look each, and count as quick again after a while', async () => {
    let now = 0;
    let looks = 0;
    const load = createReceiverLoad(1, { first: 2_000, all: 2_000 }, () => {
      looks += 1;
      return now;
    });
    const never = new Promise<void>(() => undefined);
    const slow = Array.from({ length: 1_000 }, (_, n) => `slow-${n}`);
    for (const receiver of slow) void load.track(receiver, () => never);
    await eventually('all receivers known to be slow', () => !slow.some((receiver) => load.isQuick(receiver)));
    looks = 0;
    expect(slow.filter((receiver) => load.hasRoom(receiver))).toEqual([]);
    expect(looks).toBeLessThanOrEqual(2 * slow.length);
    expect(load.reserve('quick', 10)).toBe(10);
    load.free('quick', 10);
    load.free('slow-0', 1);
    expect(load.hasRoom('slow-0')).toBe(true);
    now = 60_000;
    expect(slow.every((receiver) => load.hasRoom(receiver))).toBe(true);
  });

  test('receivers that are just not slow leave slots for the first attempts of others', () => {
    const load = createReceiverLoad(NEVER_MS, DELIVERY_SLOTS);
    const never = new Promise<void>(() => undefined);
    for (let n = 0; n < 10; n += 1) {
      expect(load.isQuick(`receiver-${n}`)).toBe(true);
      while (load.isQuick(`receiver-${n}`)) {
        void load.track(`receiver-${n}`, () => load.trackFirst(`receiver-${n}`, () => never));
      }
    }
    expect(load.isQuick('another')).toBe(true);
  });

  test('a backlog of any size costs Temporal one activity task a second', () => {
    const waiting = createWaitingDeliveries(() => 0);
    const backlog = Array.from({ length: 1_500 }, (_, n) => ({ delivery: `delivery-${n}`, org: 'hanging' }));
    const waits = backlog.map((delivery) => waiting.add('hanging', delivery));
    expect(waits[0]).toBeLessThan(5_000);
    for (const [n, ms] of waits.slice(1).entries()) expect(ms - waits[n]!).toBe(1_000);
    // When Temporal asks for the first again, it waits for its next turn, and keeps its place.
    expect(waiting.add('hanging', backlog[0]!)).toBeGreaterThan(waits.at(-1)!);
    expect(waiting.next('hanging')).toBe(backlog[0]);
    expect(waiting.next('hanging')).toBe(backlog[1]);
    expect(waiting.add('another', { delivery: 'delivery', org: 'another' })).toBeLessThan(5_000);
  });
});
