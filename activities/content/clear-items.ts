import { type IndexRowsStores, refreshIndexRows } from '../../domain/content/index-rows.js';
import type { SearchIndex } from '../../domain/content/search.js';
import type { ItemRef, RemovalRef } from '../../domain/content/workflow-contract.js';
import type { FileStore } from '../../domain/file-store.js';
import type { Chunks } from '../../storage/content/chunks.js';
import type { GraphStore } from '../../storage/content/graph.js';
import type { RemovedItems } from '../../storage/content/removed-items.js';
import { withHeartbeat } from '../heartbeat.js';

export interface ClearingDependencies {
  chunks: Chunks;
  graph: GraphStore;
  index: SearchIndex;
}

/** Takes away what these versions of a database's items, and earlier ones, have left in index, chunks and graph. */
export async function clearItems(
  { chunks, graph, index }: ClearingDependencies,
  databaseId: string,
  refs: readonly ItemRef[],
): Promise<void> {
  const left = await Promise.all(refs.map(({ item, version }) => chunks.listOlderIds({ item, version: version + 1 })));
  const ids = left.flat();
  if (ids.length > 0) {
    // The index first: without its chunk a row could not be named any more. A deleted database has no table.
    if (await index.exists(databaseId)) await index.write(databaseId, [], ids);
    await chunks.remove(ids);
  }
  await Promise.all(refs.map((ref) => graph.removeUpTo(ref)));
}

export interface RemovalDependencies extends ClearingDependencies {
  files: FileStore;
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
          const page = await deps.removedItems.listPending(ref, PAGE);
          if (page.length === 0) return cleared;
          // A removal is of one database.
          const { database_id: databaseId } = page[0]!;
          await clearItems(
            deps,
            databaseId,
            page.map(({ _id, version }) => ({ item: _id, version })),
          );
          for (const { files } of page) for (const file of files) await deps.files.remove(file);
          await deps.removedItems.markCleared(ref, page);
          cleared += page.length;
        }
      }),
  };
}

export type IndexRowsActivities = ReturnType<typeof createIndexRowsActivities>;

export function createIndexRowsActivities(deps: IndexRowsStores) {
  return {
    /** Lets the index rows of an item follow its metadata; does nothing where they have done so. */
    refreshIndexRows: (ref: ItemRef): Promise<void> => withHeartbeat(() => refreshIndexRows(deps, ref)),
  };
}
