import type { ClientSession } from 'mongodb';
import { itemDedupeKey, itemDelivery } from '../../domain/content/item-delivery.js';
import { ITEM_ERRORS } from '../../domain/extraction.js';
import type { Deliveries } from '../webhooks/deliveries.js';
import type { Registrations } from '../webhooks/registrations.js';
import type { ItemRecord } from './items.js';

/** @returns a function that stores the deliveries for items of one organisation that were deleted in progress */
export function createInterruptedNotifier({
  registrations,
  deliveries,
}: {
  registrations: Pick<Registrations, 'findForOrg'>;
  deliveries: Pick<Deliveries, 'addAll'>;
}) {
  const outcome = { status: 'errored', error_code: 'E2005', error_message: ITEM_ERRORS.E2005 } as const;
  return async (items: readonly ItemRecord[], tx: ClientSession): Promise<void> => {
    const registration = await registrations.findForOrg(items[0]!.org);
    if (!registration?.event_types.includes('indexing.status_changed')) return;
    const now = new Date();
    const keyOf = ({ _id, version }: ItemRecord) => itemDedupeKey(_id, version);
    await deliveries.addAll(
      items.map((item) => itemDelivery(item, outcome, keyOf(item), now)),
      tx,
    );
  };
}
