import { itemDelivery } from '../../storage/content/item-delivery.js';
import { queuedItem } from '../../storage/content/item-queue.js';
import type { ItemRecord } from '../../storage/content/items.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { pendingDelivery } from '../../storage/webhooks/new-delivery.js';

/** The n-th delivery of a benchmark, as the completion of an item stores it. */
export function benchDelivery(_id: string, n: number, has_workflow = true, org = 'bench'): DeliveryRecord {
  const item = { org, id: `doc-${n}`, database: 'bench', database_id: 'bench', collection: 'default', version: 1 };
  const delivery = itemDelivery(item, { status: 'completed' }, `item/${_id}/1`, new Date());
  return pendingDelivery({ ...delivery, _id, payload: { ...delivery.payload!, delivery_id: _id } }, has_workflow);
}

/** An item record with defaults for all fields that do not matter to a benchmark. */
export function benchItem(fields: Partial<ItemRecord> & Pick<ItemRecord, '_id' | 'org' | 'database_id'>): ItemRecord {
  const item = {
    database: 'bench',
    collection: 'default',
    batch: 'bench',
    id: fields._id,
    type: 'memory',
    title: null,
    source: { kind: 'text', text: '' },
    metadata: {},
    additional_metadata: {},
    ...fields,
  } as const;
  return { ...queuedItem(item, undefined, new Date()), ...fields };
}
