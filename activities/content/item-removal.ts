import { itemDedupeKey } from '../../domain/content/item-delivery.js';
import type { RemovalRef } from '../../domain/content/workflow-contract.js';
import type { RemovedItemRecord } from '../../storage/content/removed-items.js';
import type { Deliveries } from '../../storage/webhooks/deliveries.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';
import { withHeartbeat } from '../heartbeat.js';
import { type ClearRemovalDependencies, clearRemoval } from './clear-items.js';

export interface ItemRemovalDependencies extends ClearRemovalDependencies {
  deliveries: Pick<Deliveries, 'getByDedupeKey'>;
  starters: Pick<DeliveryStarters, 'startDelivery'>;
}

export type ItemRemovalActivities = ReturnType<typeof createItemRemovalActivities>;

/** Deletes the data of deleted items and of outdated versions. */
export function createItemRemovalActivities(deps: ItemRemovalDependencies) {
  const { deliveries, starters } = deps;
  return {
    /**
     * Deletes the chunks, index rows, graph and files of a removal, and starts the deliveries for items that were deleted in
     * progress. @returns the number of items
     */
    clearRemovedItems: (ref: RemovalRef): Promise<number> =>
      withHeartbeat(() => clearRemoval(deps, ref, startInterrupted)),
  };

  async function startInterrupted(removed: readonly RemovedItemRecord[]): Promise<void> {
    for (const { _id, version } of removed.filter(({ interrupted }) => interrupted)) {
      const delivery = await deliveries.getByDedupeKey(itemDedupeKey(_id, version));
      if (delivery) await starters.startDelivery(delivery);
    }
  }
}
