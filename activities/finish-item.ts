import { newDeliveryId } from '../domain/ids.js';
import type { WorkMetrics } from '../domain/metrics.js';
import type { IndexingEvent } from '../domain/webhooks.js';
import type { ItemOutcome, ItemRef } from '../domain/work.js';
import { indexingDelivery, itemSubject } from '../storage/deliveries.js';
import type { Items } from '../storage/items.js';
import type { DeliveryRecord, ItemRecord } from '../storage/records.js';
import type { Registrations } from '../storage/registrations.js';
import { createEnding, type EndingDependencies } from './ending.js';

interface FinishDependencies extends EndingDependencies {
  items: Items;
  registrations: Registrations;
  metrics: WorkMetrics;
}

/**
 * Ends an item, and announces it where a webhook is registered.
 * @returns a function that gives false when the version is no longer the item's
 */
export function createFinish(deps: FinishDependencies) {
  const { items, registrations } = deps;
  const end = createEnding(deps);
  return async (ref: ItemRef, outcome: ItemOutcome): Promise<boolean> => {
    const ended = await end(itemSubject(ref.item, ref.version), async (session, now) => {
      const item = await items.finish(ref, outcome, now, session);
      if (!item) return undefined;
      const registration = await registrations.get(item.org);
      return registration?.event_types.includes('indexing.status_changed') ? deliveryOf(item, outcome, now) : null;
    });
    if (ended) deps.metrics.itemFinished(outcome.status);
    return ended || (await items.get(ref)) !== null;
  };
}

function deliveryOf(item: ItemRecord, outcome: ItemOutcome, now: Date): DeliveryRecord {
  const id = newDeliveryId();
  const payload: IndexingEvent = {
    event: 'indexing.status_changed',
    delivery_id: id,
    id: item.id,
    database: item.database,
    collection: item.collection,
    tenant_id: item.tenant,
    sub_tenant_id: item.collection,
    status: outcome.status,
    timestamp: now.toISOString(),
    ...(outcome.error_code === undefined ? {} : { error_code: outcome.error_code }),
    ...(outcome.error_message === undefined ? {} : { error_message: outcome.error_message }),
  };
  return indexingDelivery({ _id: id, org: item.org, subject: itemSubject(item._id, item.version), now }, payload);
}
