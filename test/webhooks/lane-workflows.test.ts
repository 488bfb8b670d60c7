import { afterAll, describe, expect, test } from '@jest/globals';
import { newDeliveryId } from '../../domain/ids.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { connectTemporal } from '../../temporal/connection.js';
import { eventually } from '../support/eventually.js';
import { clientOf, registeredReceiver } from '../support/organisation.js';
import { sharedProduct, withDb } from '../support/product.js';
import { reconcile } from '../support/reconcile.js';
import { deliveryRecord } from '../support/records.js';

const LANE = 3;
const LONG_AGO = new Date(0);

const product = sharedProduct();
const org = 'lane-workflows';
const api = await clientOf(org);
const temporal = await connectTemporal(product.temporalAddress, 'default');
const receiver = await registeredReceiver(api);
afterAll(async () => {
  await receiver.close();
  await temporal.connection.close();
});

describe('deliveries in lanes of the product', () => {
  /** A delivery whose process died after it was stored, before its lane was woken. */
  async function lost(): Promise<string> {
    const record = deliveryRecord({ _id: newDeliveryId(), org, now: new Date(), lane: LANE });
    const due = { next_attempt_at: LONG_AGO, queue: { receiver: org, due: LONG_AGO } };
    await withDb(product.mongodbUri, (db) =>
      db.collection<DeliveryRecord>('deliveries').insertOne({ ...record, ...due }),
    );
    return record._id;
  }
  const get = async (id: string) => (await api.get(`/webhooks/indexing/deliveries/${id}`)).body.data;
  const reached = (id: string, status: string) =>
    eventually(`${id} ${status}`, async () => {
      const delivery = await get(id);
      return delivery.status === status ? delivery : undefined;
    });

  test('a lane whose wake-up was lost is started by the reconciler', async () => {
    const id = await lost();
    expect(await reconcile(product)).toMatchObject({ delivery_lanes: { failed: 0 } });
    expect(await reached(id, 'delivered')).toMatchObject({ workflow: `deliver-lane/${LANE}`, attempts: 1 });
    const { type, taskQueue } = await temporal.workflow.getHandle(`deliver-lane/${LANE}`).describe();
    expect([type, taskQueue]).toEqual(['deliverLane', 'deliveries']);
  });

  test('a delivery that failed in its lane has a workflow, which a person can make retry at once', async () => {
    receiver.respond = () => ({ status: 503, headers: { 'Retry-After': '600' } });
    const id = await lost();
    await temporal.workflow.signalWithStart('deliverLane', {
      workflowId: `deliver-lane/${LANE}`,
      taskQueue: 'deliveries',
      args: [{ lane: LANE }],
      signal: 'wake',
    });
    expect(await reached(id, 'failed')).toMatchObject({ workflow: `delivery/${id}`, attempts: 1 });
    await eventually('its workflow, which waits', async () => {
      const running = temporal.workflow.getHandle(`delivery/${id}`).describe();
      return running.catch(() => undefined);
    });
    receiver.respond = () => ({ status: 204 });
    const retry = await api.post(`/webhooks/indexing/deliveries/${id}/retry`);
    expect(retry.body.data).toMatchObject({ queued: true });
    expect(await reached(id, 'delivered')).toMatchObject({ attempts: 2 });
  });

  test('many deliveries of one request go into a lane', async () => {
    await api.createDatabase('crowd');
    const ids = Array.from({ length: 11 }, (_, n) => `note-${n}`);
    const memories = JSON.stringify(ids.map((id) => ({ id, text: `The note ${id}.` })));
    await api.ingest({ database: 'crowd', memories });
    for (const id of ids) await api.ended('crowd', id);
    receiver.received.length = 0;
    // Nothing has changed, so each item is notified again.
    await api.ingest({ database: 'crowd', memories, upsert: 'true' });
    await eventually('all webhooks', () => ids.every((id) => receiver.received.some(({ json }) => json.id === id)));
    const delivery = await reached(String(receiver.received.at(-1)!.json.delivery_id), 'delivered');
    expect(delivery.workflow).toMatch(/^deliver-lane\/\d$/);
  });
});
