import { newDeliveryId } from '../../../domain/ids.js';
import type { DeliveryRecord } from '../../../storage/webhooks/deliveries.js';
import { createStarters } from '../../../temporal/starters.js';
import { eventually } from '../eventually.js';
import { withDb } from '../product.js';
import { deliveryRecord } from '../records.js';
import type { Recording } from './recording.js';

/** Failed deliveries of one organisation after which further ones stay in their lane. */
const MANY_FAILED = 1_000;

/** Records a lane that has delivered, and a lane that waits for a delivery which failed and is woken for another. */
export async function recordLanes({ org, product, temporal, receiver, record }: Recording): Promise<void> {
  receiver.respond = () => ({ status: 503, headers: { 'Retry-After': '60' } });
  const { startLane } = createStarters(temporal);
  const now = new Date();
  const inDb = <T>(work: (deliveries: import('mongodb').Collection<DeliveryRecord>) => Promise<T>) =>
    withDb(product.mongodbUri, (db) => work(db.collection<DeliveryRecord>('deliveries')));
  const add = async (lane: number): Promise<string> => {
    const added = deliveryRecord({ _id: newDeliveryId(), org, now, lane });
    await inDb((deliveries) => deliveries.insertOne(added));
    await startLane(lane);
    return added._id;
  };
  const reached = (id: string, status: string) =>
    eventually(`${id} ${status}`, () => inDb((deliveries) => deliveries.findOne({ _id: id, status } as never)));

  const waiting = Array.from({ length: MANY_FAILED }, () => {
    const { queue: _, ...failed } = deliveryRecord({ _id: newDeliveryId(), org, now });
    const later = new Date(now.getTime() + 60 * 60 * 1000);
    return { ...failed, status: 'failed' as const, next_attempt_at: later, check_at: later };
  });
  await inDb((deliveries) => deliveries.insertMany(waiting));
  await reached(await add(1), 'failed');
  await eventually('the lane waits', async () => {
    const { pendingActivities } = (await temporal.workflow.getHandle('deliver-lane/1').describe()).raw;
    return pendingActivities?.length === 0;
  });
  receiver.respond = () => ({ status: 204 });
  await reached(await add(1), 'delivered');
  await inDb((deliveries) => deliveries.deleteMany({ org, status: 'failed' }));
  await record('deliver-lane-waited', 'deliver-lane/1');
  await reached(await add(2), 'delivered');
  await record('deliver-lane-delivered', 'deliver-lane/2');
}
