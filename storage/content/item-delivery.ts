import type { ClientSession } from 'mongodb';
import type { ItemOutcome } from '../../domain/content/workflow-contract.js';
import { newDeliveryId } from '../../domain/ids.js';
import type { Deliveries } from '../webhooks/deliveries.js';
import type { NewDelivery } from '../webhooks/new-delivery.js';
import type { Registrations } from '../webhooks/registrations.js';
import type { ItemRecord } from './items.js';

/** @returns the dedupe key of the delivery for the completion of an item version */
export function itemDedupeKey({ _id, version }: Pick<ItemRecord, '_id' | 'version'>): string {
  return `item/${_id}/${version}`;
}

type NotifiedItem = Pick<ItemRecord, 'org' | 'id' | 'database' | 'database_id' | 'collection' | 'version'>;

export interface ItemNotifierDependencies {
  registrations: Pick<Registrations, 'findForOrg'>;
  deliveries: Pick<Deliveries, 'addAll'>;
}

/**
 * @returns a function that stores the deliveries for items of one organisation, in the transaction that ends them with the same
 * outcome; none when the organisation's webhook is not registered for them
 */
export function createItemNotifier({ registrations, deliveries }: ItemNotifierDependencies) {
  type Item = NotifiedItem & Pick<ItemRecord, '_id'>;
  return async (items: readonly Item[], outcome: ItemOutcome, now: Date, tx: ClientSession, keyOf = itemDedupeKey) => {
    const registration = items[0] ? await registrations.findForOrg(items[0].org) : null;
    if (!registration?.event_types.includes('indexing.status_changed')) return [];
    return deliveries.addAll(
      items.map((item) => itemDelivery(item, outcome, keyOf(item), now)),
      tx,
    );
  };
}

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
