import { type IndexRowsStores, refreshIndexRows } from '../../domain/content/index-rows.js';
import { itemDedupeKey } from '../../domain/content/item-delivery.js';
import type { SearchIndex } from '../../domain/content/search.js';
import type { IngestRef, ItemRef, RemovalRef } from '../../domain/content/workflow-contract.js';
import type { FileStore } from '../../domain/file-store.js';
import type { Items } from '../../storage/content/items.js';
import type { RemovedItemRecord, RemovedItems } from '../../storage/content/removed-items.js';
import type { Deliveries } from '../../storage/webhooks/deliveries.js';
import type { ContentStarters } from '../../temporal/content/starters.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';
import { withHeartbeat } from '../heartbeat.js';
import { type ClearItemsDependencies, clearItems } from './clear-items.js';

export interface ItemMaintenanceDependencies {
  items: Pick<Items, 'listQueued'> & IndexRowsStores['items'];
  removedItems: Pick<RemovedItems, 'listPending' | 'markCleared'>;
  databases: IndexRowsStores['databases'];
  itemCatalogue: IndexRowsStores['itemCatalogue'];
  chunks: ClearItemsDependencies['chunks'] & IndexRowsStores['chunks'];
  graph: ClearItemsDependencies['graph'];
  index: Pick<SearchIndex, 'exists' | 'write'>;
  files: Pick<FileStore, 'remove'>;
  deliveries: Pick<Deliveries, 'getByDedupeKey'>;
  starters: Pick<ContentStarters, 'startItem'> & Pick<DeliveryStarters, 'startDelivery'>;
}

export type ItemMaintenanceActivities = ReturnType<typeof createItemMaintenanceActivities>;

/** Queued items read at a time. */
const START_PAGE = 200;
/** Starts in progress at the same time for one large request. */
const CONCURRENT_STARTS = 16;
/** Items cleared at a time, which is one commit of the search index. */
const CLEAR_PAGE = 100;

/** Work on the items of a whole request. Each activity can be repeated, and continues where a killed worker stopped. */
export function createItemMaintenanceActivities(deps: ItemMaintenanceDependencies) {
  const { items, removedItems, files, deliveries, starters } = deps;

  return {
    /** Starts the workflow of each queued item of an ingest request. @returns the number of items */
    startItems: ({ org, batch }: IngestRef): Promise<number> =>
      withHeartbeat(async () => {
        let started = 0;
        let last = '';
        for (;;) {
          const page = await items.listQueued(org, batch, last, START_PAGE);
          if (page.length === 0) return started;
          for (let n = 0; n < page.length; n += CONCURRENT_STARTS) {
            await Promise.all(page.slice(n, n + CONCURRENT_STARTS).map((item) => starters.startItem(item)));
          }
          started += page.length;
          last = page.at(-1)!._id;
        }
      }),

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

    /** Rewrites the index rows of an item after a change of its metadata; does nothing when they are up to date. */
    refreshIndexRows: (ref: ItemRef): Promise<void> => withHeartbeat(() => refreshIndexRows(deps, ref)),
  };

  async function startInterrupted(removed: readonly RemovedItemRecord[]): Promise<void> {
    for (const { _id, version } of removed.filter(({ interrupted }) => interrupted)) {
      const delivery = await deliveries.getByDedupeKey(itemDedupeKey(_id, version));
      if (delivery) await starters.startDelivery(delivery);
    }
  }
}
