import type { ItemOutcome } from '../../domain/content/workflow-contract.js';
import { newDeliveryId } from '../../domain/ids.js';
import type { NewDelivery } from '../webhooks/new-delivery.js';
import type { ItemRecord } from './items.js';

/** @returns the dedupe key of the delivery for the completion of an item version */
export function itemDedupeKey(item: string, version: number): string {
  return `item/${item}/${version}`;
}

type NotifiedItem = Pick<ItemRecord, 'org' | 'id' | 'database' | 'database_id' | 'collection' | 'version'>;

/** @returns the delivery for the completion of an item (specification, "Webhook payload") */
export function itemDelivery(item: NotifiedItem, outcome: ItemOutcome, dedupe_key: string, now: Date): NewDelivery {
  const _id = newDeliveryId(now);
  const event = 'indexing.status_changed';
  const { status, error_code, error_message } = outcome;
  return {
    _id,
    org: item.org,
    dedupe_key,
    event_type: event,
    doc_id: item.id,
    indexing_status: status,
    now,
    payload: {
      event,
      delivery_id: _id,
      id: item.id,
      database: item.database,
      collection: item.collection,
      tenant_id: item.database_id,
      sub_tenant_id: item.collection,
      status,
      timestamp: now.toISOString(),
      version: item.version,
      ...(error_code === undefined ? {} : { error_code }),
      ...(error_message === undefined ? {} : { error_message }),
    },
  };
}
