import type { RemovalRef } from '../domain/work.js';
import type { Files } from '../storage/files.js';
import type { RemovedItems } from '../storage/removed-items.js';
import { type ClearingDependencies, clearItems } from './clear-items.js';
import { withHeartbeat } from './heartbeat.js';

export interface RemovalDependencies extends ClearingDependencies {
  files: Files;
  removedItems: RemovedItems;
}

export type RemovalActivities = ReturnType<typeof createRemovalActivities>;

/** Items cleared away in one go, which is one commit of the search index. */
const PAGE = 100;

export function createRemovalActivities(deps: RemovalDependencies) {
  return {
    /** Clears away what deleted items have left; goes on where a killed worker stopped. @returns how many items */
    clearRemovedItems: (ref: RemovalRef): Promise<number> =>
      withHeartbeat(async () => {
        let cleared = 0;
        for (;;) {
          const page = await deps.removedItems.pending(ref, PAGE);
          if (page.length === 0) return cleared;
          // A removal is of one database.
          const { tenant } = page[0]!;
          await clearItems(
            deps,
            tenant,
            page.map(({ _id, version }) => ({ item: _id, version })),
          );
          for (const { files } of page) for (const file of files) await deps.files.remove(file);
          await deps.removedItems.cleared(ref, page);
          cleared += page.length;
        }
      }),
  };
}
