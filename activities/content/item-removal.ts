import { itemDedupeKey } from '../../domain/content/item-delivery.js';
import type { RemovalRef } from '../../domain/content/workflow-contract.js';
import type { FileStore } from '../../domain/file-store.js';
import type { RemovedItemRecord, RemovedItems } from '../../storage/content/removed-items.js';
import type { Deliveries } from '../../storage/webhooks/deliveries.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';
import { withHeartbeat } from '../heartbeat.js';
import { type ClearItemsDependencies, clearItems } from './clear-items.js';

export interface ItemRemovalDependencies extends ClearItemsDependencies {
  removedItems: Pick<RemovedItems, 'listPending' | 'markCleared'>;
  files: Pick<FileStore, 'remove'>;
  deliveries: Pick<Deliveries, 'getByDedupeKey'>;
  starters: Pick<DeliveryStarters, 'startDelivery'>;
}

export type ItemRemovalActivities = ReturnType<typeof createItemRemovalActivities>;

/** Items cleared at a time, which is one commit of the search index. */
const CLEAR_PAGE = 100;

/** Deletes the data of deleted items. */
export function createItemRemovalActivities(deps: ItemRemovalDependencies) {
  const { removedItems, files, deliveries, starters } = deps;
  return {
    /**
     * Deletes the chunks, index rows, graph and files of deleted items, and starts the deliveries for those that were
     * deleted in progress. @returns the number of items
     */
    clearRemovedItems: (ref: RemovalRef): Promise<number> =>
      withHeartbeat(async () => {
        let cleared = 0;
        for (;;) {
          const page = await removedItems.listPending(ref, CLEAR_PAGE);
          if (page.length === 0) return cleared;
          // All items of a removal are in one database.
          const databaseId = page[0]!.database_id;
          await startInterrupted(page);
          const versions = page.map(({ _id, version }) => ({ item: _id, version }));
          await clearItems(deps, databaseId, versions);
          for (const fileId of page.flatMap((item) => item.files)) await files.remove(fileId);
          await removedItems.markCleared(ref, page);
          cleared += page.length;
        }
      }),
  };

  async function startInterrupted(removed: readonly RemovedItemRecord[]): Promise<void> {
    for (const { _id, version } of removed.filter(({ interrupted }) => interrupted)) {
      const delivery = await deliveries.getByDedupeKey(itemDedupeKey(_id, version));
      if (delivery) await starters.startDelivery(delivery);
    }
  }
}
