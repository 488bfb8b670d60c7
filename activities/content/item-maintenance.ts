import { type IndexRowsStores, refreshIndexRows } from '../../domain/content/index-rows.js';
import type { SearchIndex } from '../../domain/content/search.js';
import type { IngestRef, ItemRef } from '../../domain/content/workflow-contract.js';
import type { Items } from '../../storage/content/items.js';
import type { ContentStarters } from '../../temporal/content/starters.js';
import { withHeartbeat } from '../heartbeat.js';

export interface ItemMaintenanceDependencies {
  items: Pick<Items, 'listQueued'> & IndexRowsStores['items'];
  databases: IndexRowsStores['databases'];
  itemCatalogue: IndexRowsStores['itemCatalogue'];
  chunks: IndexRowsStores['chunks'];
  index: Pick<SearchIndex, 'exists' | 'write'>;
  starters: Pick<ContentStarters, 'startItem'>;
}

export type ItemMaintenanceActivities = ReturnType<typeof createItemMaintenanceActivities>;

/** Queued items read at a time. */
const START_PAGE = 200;
/** Starts in progress at the same time for one large request. */
const CONCURRENT_STARTS = 16;

/** Work on the items of a whole request. Each activity can be repeated, and continues where a killed worker stopped. */
export function createItemMaintenanceActivities(deps: ItemMaintenanceDependencies) {
  const { items, starters } = deps;

  return {
    /**
     * Starts the workflow of each queued item of an ingest request.
     * @param priorityKey of the items
     * @returns the number of items
     */
    startItems: ({ org, batch }: IngestRef, priorityKey?: number): Promise<number> =>
      withHeartbeat(async () => {
        let started = 0;
        let last = '';
        for (;;) {
          const page = await items.listQueued(org, batch, last, START_PAGE);
          if (page.length === 0) return started;
          for (let n = 0; n < page.length; n += CONCURRENT_STARTS) {
            await Promise.all(
              page.slice(n, n + CONCURRENT_STARTS).map((item) => starters.startItem(item, priorityKey)),
            );
          }
          started += page.length;
          last = page.at(-1)!._id;
        }
      }),

    /** Rewrites the index rows of an item after a change of its metadata; does nothing when they are up to date. */
    refreshIndexRows: (ref: ItemRef): Promise<void> => withHeartbeat(() => refreshIndexRows(deps, ref)),
  };
}
