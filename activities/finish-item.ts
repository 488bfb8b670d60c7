import type { MongoClient } from 'mongodb';
import { newDeliveryId } from '../domain/ids.js';
import type { IndexingEvent } from '../domain/webhooks.js';
import type { ItemOutcome, ItemRef } from '../domain/work.js';
import { type Deliveries, indexingDelivery, itemSubject } from '../storage/deliveries.js';
import type { Items } from '../storage/items.js';
import type { DeliveryRecord, ItemRecord } from '../storage/records.js';
import type { Registrations } from '../storage/registrations.js';
import type { Launcher } from '../temporal/launcher.js';

interface FinishDependencies {
  mongo: MongoClient;
  items: Items;
  registrations: Registrations;
  deliveries: Deliveries;
  launcher: Launcher;
}

/**
 * Ends an item: the terminal status and the delivery record are written together or not at all, then the delivery's
 * workflow is started. A crash in between is mended by the activity's retry or by the sweep.
 * @returns a function that gives false when the version is no longer the item's
 */
export function createFinish({ mongo, items, registrations, deliveries, launcher }: FinishDependencies) {
  return async (ref: ItemRef, outcome: ItemOutcome): Promise<boolean> => {
    const written = await mongo.withSession((session) =>
      session.withTransaction(async () => {
        const now = new Date();
        const item = await items.finish(ref, outcome, now, session);
        if (!item) return null;
        const registration = await registrations.get(item.org);
        if (!registration?.event_types.includes('indexing.status_changed')) return { delivery: null };
        const delivery = deliveryOf(item, outcome, now);
        await deliveries.add(delivery, session);
        return { delivery };
      }),
    );
    // Nothing written: another version's turn, or an earlier attempt of this very activity got as far as here.
    const delivery = written ? written.delivery : await deliveries.of(itemSubject(ref.item, ref.version));
    if (delivery) await launcher.startDelivery(delivery);
    return written !== null || (await items.get(ref)) !== null;
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
