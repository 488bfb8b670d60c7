import { inBatches } from '../../domain/batches.js';
import { workflowUnits } from '../../domain/content/small-items.js';
import type { IngestRef, ItemRef } from '../../domain/content/workflow-contract.js';
import { type IndexRowsStores, refreshIndexRows } from '../../storage/content/index-rows.js';
import type { Items } from '../../storage/content/items.js';
import type { ContentStarters } from '../../temporal/content/starters.js';
import { withHeartbeat } from '../heartbeat.js';

export interface ItemMaintenanceDependencies extends IndexRowsStores {
  items: Pick<Items, 'listQueued'> & IndexRowsStores['items'];
  starters: Pick<ContentStarters, 'startItems'>;
}

export type ItemMaintenanceActivities = ReturnType<typeof createItemMaintenanceActivities>;

/** Starts in progress at the same time for one large request. */
const CONCURRENT_STARTS = 16;

/** Work on the items of a whole request. Each activity can be repeated, and continues where a killed worker stopped. */
export function createItemMaintenanceActivities(deps: ItemMaintenanceDependencies) {
  const { items, starters } = deps;

  return {
    /**
     * Starts the workflow of each group and of each other item that an ingest request has queued.
     * @param priorityKey of the items
     * @returns the number of items
     */
    startItems: ({ org, batch }: IngestRef, priorityKey?: number): Promise<number> =>
      withHeartbeat(async () => {
        const queued = await items.listQueued(org, batch);
        for (const units of inBatches(workflowUnits(queued), { count: CONCURRENT_STARTS })) {
          await Promise.all(units.map((unit) => starters.startItems(unit, priorityKey)));
        }
        return queued.length;
      }),

    /** Rewrites the index rows of an item after a change of its metadata; does nothing when they are up to date. */
    refreshIndexRows: ({ org, item }: ItemRef): Promise<void> =>
      withHeartbeat(() => refreshIndexRows(deps, { org, key: item })),
  };
}
