import { itemDelivery } from '../domain/content/item-delivery.js';
import { type DeliveryRecord, pendingDelivery } from '../storage/webhooks/deliveries.js';

/** The n-th delivery of a bench, as the completion of an item stores it. */
export function pendingBenchDelivery(_id: string, n: number): DeliveryRecord {
  const item = { org: 'bench', id: `doc-${n}`, database: 'bench', database_id: 'bench', collection: 'default' };
  const delivery = itemDelivery(item, { status: 'completed' }, `item/${_id}/1`, new Date());
  return pendingDelivery({ ...delivery, _id, payload: { ...delivery.payload!, delivery_id: _id } });
}
