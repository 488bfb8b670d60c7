import type { ItemOutcome } from '../../domain/content/workflow-contract.js';
import { newDeliveryId } from '../../domain/ids.js';
import type { IndexingEvent } from '../../domain/webhooks/events.js';
import { type DeliveryRecord, type NewDelivery, pendingDelivery } from '../webhooks/deliveries.js';
import type { ItemRecord } from './items.js';

/** The dedupe key of the delivery that notifies of this version's completion. */
export function itemDedupeKey(item: string, version: number): string {
  return `item/${item}/${version}`;
}

/** The delivery of an indexing webhook as it begins. */
export function indexingDelivery(
  delivery: Pick<NewDelivery, '_id' | 'org' | 'dedupe_key' | 'now'>,
  payload: IndexingEvent,
): DeliveryRecord {
  const { event, id, status } = payload;
  return { ...pendingDelivery({ ...delivery, event_type: event, doc_id: id }), indexing_status: status, payload };
}

/** The delivery that notifies of an item's completion. */
export function itemDelivery(
  item: Pick<ItemRecord, 'org' | 'id' | 'database' | 'collection' | 'database_id'>,
  outcome: ItemOutcome,
  dedupe_key: string,
  now: Date,
): DeliveryRecord {
  const delivery_id = newDeliveryId();
  const { status, error_code, error_message } = outcome;
  return indexingDelivery(
    { _id: delivery_id, org: item.org, dedupe_key, now },
    {
      event: 'indexing.status_changed',
      delivery_id,
      id: item.id,
      database: item.database,
      collection: item.collection,
      tenant_id: item.database_id,
      sub_tenant_id: item.collection,
      status,
      timestamp: now.toISOString(),
      ...(error_code === undefined ? {} : { error_code }),
      ...(error_message === undefined ? {} : { error_message }),
    },
  );
}
