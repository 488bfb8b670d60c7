import { indexingDelivery } from '../../storage/deliveries.js';
import type { DeliveryRecord } from '../../storage/records.js';

/** A pending delivery as the end of an item writes it. */
export function deliveryRecord({ _id, org, now }: { _id: string; org: string; now: Date }): DeliveryRecord {
  return indexingDelivery(
    {
      _id,
      org,
      subject: `item/${_id}/1`,
      now,
    },
    {
      event: 'indexing.status_changed',
      delivery_id: _id,
      id: 'report.pdf',
      database: 'library',
      collection: 'default',
      tenant_id: 'tnt_test',
      sub_tenant_id: 'default',
      status: 'completed',
      timestamp: now.toISOString(),
    },
  );
}
