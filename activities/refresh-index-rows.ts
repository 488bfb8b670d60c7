import type { ItemRef } from '../domain/work.js';
import { type IndexRowsDependencies, refreshIndexRows } from '../storage/index-rows.js';
import { withHeartbeat } from './heartbeat.js';

export type IndexRowsActivities = ReturnType<typeof createIndexRowsActivities>;

export function createIndexRowsActivities(deps: IndexRowsDependencies) {
  return {
    /** Lets the index rows of an item follow its metadata; does nothing where they have done so. */
    refreshIndexRows: (ref: ItemRef): Promise<void> => withHeartbeat(() => refreshIndexRows(deps, ref)),
  };
}
