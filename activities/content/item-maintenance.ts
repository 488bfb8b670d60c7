import { workflowUnits } from '../../domain/content/small-items.js';
import type { IngestRef, ItemRef } from '../../domain/content/workflow-contract.js';
import { type IndexRowsStores, refreshIndexRows } from '../../storage/content/index-rows.js';
import type { ItemRecord, Items } from '../../storage/content/items.js';
import type { ContentStarters } from '../../temporal/content/starters.js';
import { withHeartbeat } from '../heartbeat.js';

export interface ItemMaintenanceDependencies extends IndexRowsStores {
  items: Pick<Items, 'streamQueued'> & IndexRowsStores['items'];
  starters: Pick<ContentStarters, 'startItems'>;
}

export type ItemMaintenanceActivities = ReturnType<typeof createItemMaintenanceActivities>;

/** Queued items read at a time, and a little more: a group is not divided. */
const START_PAGE = 200;
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
        let started = 0;
        for await (const page of pagesOf(items.streamQueued(org, batch))) {
          const units = workflowUnits(page);
          for (let n = 0; n < units.length; n += CONCURRENT_STARTS) {
            await Promise.all(
              units.slice(n, n + CONCURRENT_STARTS).map((unit) => starters.startItems(unit, priorityKey)),
            );
          }
          started += page.length;
        }
        return started;
      }),

    /** Rewrites the index rows of an item after a change of its metadata; does nothing when they are up to date. */
    refreshIndexRows: ({ org, item }: ItemRef): Promise<void> =>
      withHeartbeat(() => refreshIndexRows(deps, { org, key: item })),
  };
}

/** @param items each group together */
async function* pagesOf(items: AsyncIterable<ItemRecord>): AsyncGenerator<ItemRecord[]> {
  let page: ItemRecord[] = [];
  for await (const item of items) {
    const sameGroup = item.group !== undefined && item.group === page.at(-1)?.group;
    if (page.length >= START_PAGE && !sameGroup) {
      yield page;
      page = [];
    }
    page.push(item);
  }
  if (page.length > 0) yield page;
}
