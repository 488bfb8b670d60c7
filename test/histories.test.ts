import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { NativeConnection, type Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { newDeliveryId } from '../domain/ids.js';
import type { DeliveryRecord } from '../storage/webhooks/deliveries.js';
import { connectTemporal, registerSearchAttributes } from '../temporal/connection.js';
import { dataConverterOf } from '../temporal/payload-codec.js';
import { workflowBundle } from '../worker/bundle.js';
import { installTemporalLogger } from '../worker/logging.js';
import { createWorkers } from '../worker/workers.js';
import { createDeliveryHarness } from './support/delivery-harness.js';
import { eventually } from './support/eventually.js';
import { testCollections } from './support/mongodb.js';
import { createNamespace, databaseBeside, sharedProduct } from './support/product.js';
import { startReceiver } from './support/receiver.js';
import { deliveryRecord } from './support/records.js';

const newKey = () => randomBytes(32).toString('base64');

// The delivery worker as the product creates it, in a namespace of its own.
const { mongodbUri, temporalAddress } = sharedProduct();
const namespace = 'histories';
const org = 'histories';
const secret = 'mongodb://postback:winterberry@10.0.0.7/';
installTemporalLogger(pino({ level: 'silent' }));
await createNamespace(temporalAddress, namespace);
const collections = await testCollections(databaseBeside(mongodbUri, 'histories'));
const connection = await NativeConnection.connect({ address: temporalAddress });
const harness = createDeliveryHarness(collections);
const receiver = await startReceiver();
await harness.registrations.register(org, receiver.url, ['indexing.status_changed']);
afterAll(async () => {
  await receiver.close();
  await harness.close();
  await connection.close();
});

describe('what Temporal stores', () => {
  /** Runs a delivery from the start of its workflow to its end. @param meanwhile runs beside it */
  async function deliver(keys: string | undefined, record: DeliveryRecord, meanwhile?: (temporal: Client) => unknown) {
    const dataConverter = dataConverterOf(keys);
    const temporal = await connectTemporal(temporalAddress, namespace, {}, dataConverter);
    await registerSearchAttributes(temporal, namespace);
    // The senders of earlier tests would make its attempts.
    await harness.stop();
    const [worker] = (await createWorkers({
      connection,
      namespace,
      dataConverter,
      bundle: await workflowBundle(),
      queues: ['deliveries'],
      activities: { deliveries: harness.activities({ scheduleMs: [1_000, ...Array(3_000).fill(100)] }) } as never,
      graceMs: 0,
      log: pino({ level: 'silent' }),
    })) as [Worker];
    const workflowId = `delivery/${record._id}`;
    await collections.deliveries.insertOne(record);
    const handle = await temporal.workflow.start('deliverWebhook', {
      workflowId,
      taskQueue: 'deliveries',
      args: [{ delivery: record._id, org }],
      staticSummary: 'A summary',
    });
    const result = await worker.runUntil(async () => {
      await meanwhile?.(temporal);
      return handle.result();
    });
    const history = historyToJSON(await handle.fetchHistory());
    await temporal.connection.close();
    return { result, history, text: history + payloadsIn(history).join('\n') };
  }

  const pending = () => deliveryRecord({ _id: newDeliveryId(new Date()), org, now: new Date() });

  test('contains the class of a database error, but not its text', async () => {
    // MongoDB's error for a repeated key quotes the key: here, when the delivery is claimed.
    const index = await collections.deliveries.createIndex({ status: 1, doc_id: 1 }, { unique: true });
    const [blocking, record] = [pending(), pending()];
    const held = { status: 'sweeping' as const, next_attempt_at: new Date(Date.now() + 3_600_000) };
    await collections.deliveries.insertOne({ ...blocking, ...held, doc_id: secret });
    const { result, text } = await deliver(undefined, { ...record, doc_id: secret }, async (temporal) => {
      await eventually('a failed attempt', async () => {
        const { raw } = await temporal.workflow.getHandle(`delivery/${record._id}`).describe();
        const failure = raw.pendingActivities?.[0]?.lastFailure;
        expect(JSON.stringify(raw)).not.toContain('winterberry');
        return failure?.message === 'An internal error: MongoServerError';
      });
      await collections.deliveries.dropIndex(index);
    });
    expect(result).toBe('delivered');
    // The failure of the first attempt, which runs inside the workflow task, and of those that follow.
    expect(text.match(/An internal error: MongoServerError/g)!.length).toBeGreaterThanOrEqual(2);
    expect(text).not.toMatch(/E11000|winterberry/);
  });

  test("contains the status of a receiver's response, but not its text", async () => {
    const headers = { 'Content-Type': 'text/winterberry', Location: secret };
    receiver.respond = () => ({ status: 503, headers, body: `No: ${secret}` });
    const record = pending();
    const { result, text } = await deliver(undefined, record, async (temporal) => {
      await eventually('a failed attempt', async () => {
        const { raw } = await temporal.workflow.getHandle(`delivery/${record._id}`).describe();
        return raw.pendingActivities?.[0]?.lastFailure?.message?.includes('HTTP_503') ?? false;
      });
      receiver.respond = () => ({ status: 204, headers, body: `No: ${secret}` });
    });
    expect(result).toBe('delivered');
    expect(text).toContain('Not delivered yet: HTTP_503.');
    expect(text).not.toContain('winterberry');
    receiver.respond = () => ({ status: 204 });
  });

  test('is encrypted with a key, except for ids and search attributes', async () => {
    const record = pending();
    const { result, history, text } = await deliver(newKey(), record);
    expect(result).toBe('delivered');
    expect(history).toContain(Buffer.from('binary/encrypted').toString('base64'));
    expect(text).not.toMatch(/A summary|"delivered"/);
    // The ids of the workflow remain readable; its input, which contains the same id, does not.
    const inputs = payloadsIn(history).filter((payload) => payload.includes(record._id));
    expect(inputs).toEqual([]);
  });

  test('is read with an earlier key, and as it was stored before there was a key', async () => {
    const [before, after] = [newKey(), newKey()];
    const [earlier] = dataConverterOf(before).payloadCodecs!;
    const [codec] = dataConverterOf(`${after},${before}`).payloadCodecs!;
    const plain = payload('a value');
    for (const stored of [[plain], await earlier!.encode([plain])]) {
      const [read] = await codec!.decode(stored);
      expect(Buffer.from(read!.data!).toString()).toBe('a value');
    }
  });

  test('cannot be read without its key', async () => {
    const [written] = dataConverterOf(newKey()).payloadCodecs!;
    const [other] = dataConverterOf(newKey()).payloadCodecs!;
    await expect(other!.decode(await written!.encode([payload('a value')]))).rejects.toThrow('has no key with the id');
    expect(() => dataConverterOf('short')).toThrow('32 bytes');
  });
});

function payload(text: string) {
  return { metadata: { encoding: Buffer.from('binary/plain') }, data: Buffer.from(text) };
}

/** Payloads are base64 inside the JSON of a history. */
function payloadsIn(history: string): string[] {
  return [...history.matchAll(/"data": ?"([A-Za-z0-9+/=]+)"/g)].map(([, data]) =>
    Buffer.from(data!, 'base64').toString(),
  );
}
