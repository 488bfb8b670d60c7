import { newDeliveryId } from '../domain/ids.js';
import type { IndexingEvent } from '../domain/webhooks.js';
import type { ItemOutcome } from '../domain/work.js';
import { type Announcement, pendingDelivery } from './deliveries.js';
import type { DeliveryRecord } from './records/deliveries.js';
import type { ItemRecord } from './records/items.js';

/** The end of an item, as `DeliveryRecord.subject` names it. */
export function itemSubject(item: string, version: number): string {
  return `item/${item}/${version}`;
}

/** The delivery of an indexing webhook as it begins. */
export function indexingDelivery(
  announcement: Pick<Announcement, '_id' | 'org' | 'subject' | 'now'>,
  payload: IndexingEvent,
): DeliveryRecord {
  const { event, id, status } = payload;
  return { ...pendingDelivery({ ...announcement, event_type: event, doc_id: id }), indexing_status: status, payload };
}

/** The delivery that tells how an item has ended. @param subject what makes it one of its own */
export function itemDelivery(
  item: Pick<ItemRecord, 'org' | 'id' | 'database' | 'collection' | 'tenant'>,
  outcome: ItemOutcome,
  subject: string,
  now: Date,
): DeliveryRecord {
  const delivery_id = newDeliveryId();
  const { status, error_code, error_message } = outcome;
  return indexingDelivery(
    { _id: delivery_id, org: item.org, subject, now },
    {
      event: 'indexing.status_changed',
      delivery_id,
      id: item.id,
      database: item.database,
      collection: item.collection,
      tenant_id: item.tenant,
      sub_tenant_id: item.collection,
      status,
      timestamp: now.toISOString(),
      ...(error_code === undefined ? {} : { error_code }),
      ...(error_message === undefined ? {} : { error_message }),
    },
  );
}
