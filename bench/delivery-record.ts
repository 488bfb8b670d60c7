import { indexingDelivery } from '../storage/content/item-callbacks.js';
import type { DeliveryRecord } from '../storage/webhooks/deliveries.js';

/** The n-th delivery of a bench, as the end of an item writes it. */
export function pendingBenchDelivery(_id: string, n: number): DeliveryRecord {
  const now = new Date();
  return indexingDelivery(
    { _id, org: 'bench', dedupe_key: `item/${_id}/1`, now },
    {
      event: 'indexing.status_changed',
      delivery_id: _id,
      id: `doc-${n}`,
      database: 'bench',
      collection: 'default',
      tenant_id: 'bench',
      sub_tenant_id: 'default',
      status: 'completed',
      timestamp: now.toISOString(),
    },
  );
}
