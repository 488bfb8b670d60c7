/** Deletes the data of deleted items and of outdated versions. */
import type { Logger } from 'pino';
import { inBatches } from '../../domain/batches.js';
import type { OwnedDatabase } from '../../domain/content/databases.js';
import type { ItemRef, RemovalRef } from '../../domain/content/workflow-contract.js';
import type { FileStore } from '../../domain/file-store.js';
import type { Chunks } from '../../storage/content/chunks.js';
import type { GraphStore } from '../../storage/content/graph.js';
import { type IndexStores, removeRows } from '../../storage/content/index-rows.js';
import type { Items } from '../../storage/content/items.js';
import type { VersionRange } from '../../storage/content/outdated-versions.js';
import type { RemovedItems } from '../../storage/content/removed-items.js';
import { withHeartbeat } from '../heartbeat.js';

export interface ClearItemsDependencies extends IndexStores {
  chunks: Pick<Chunks, 'listIds' | 'remove'>;
  graph: Pick<GraphStore, 'remove'>;
}

export interface ClearRemovalDependencies extends ClearItemsDependencies {
  removedItems: Pick<RemovedItems, 'listPending' | 'markCleared'>;
  files: Pick<FileStore, 'remove'>;
}

/** Items cleared at a time, which is one commit of the search index. */
const PAGE = 100;
/** Chunks removed at a time: large items have thousands each, and MongoDB takes no command with the ids of 330,000. */
const CHUNKS = 10_000;

/**
 * Deletes the index rows, chunks and graph of versions of items. Files are deleted by the caller.
 * @param database of all these items
 */
export async function clearItems(
  { chunks, graph, ...stores }: ClearItemsDependencies,
  database: OwnedDatabase,
  versions: readonly VersionRange[],
): Promise<void> {
  const chunkIds = (await Promise.all(versions.map((range) => chunks.listIds(database._id, range)))).flat();
  for (const ids of inBatches(chunkIds, { count: CHUNKS })) {
    // Index rows are found by the ids of their chunks, so they go first.
    await removeRows(stores, database, ids);
    await chunks.remove(database._id, ids);
  }
  await Promise.all(versions.map((range) => graph.remove(database._id, range)));
}

/**
 * Deletes what a version of an item has written; earlier versions keep theirs. A version that is served keeps its data: a lost
 * run has completed it, and it may have been replaced since by a version that is in progress.
 */
export async function clearVersion(
  deps: ClearItemsDependencies & { items: Pick<Items, 'listByKeys'> },
  ref: ItemRef,
): Promise<void> {
  const { item, version, database_id: _id, org } = ref;
  const [found] = await deps.items.listByKeys(org, [item]);
  if (found?.served_version === version) return;
  await clearItems(deps, { _id, org }, [{ item, from: version, upTo: version }]);
}

/**
 * Deletes all data of a removal: of deleted items, or of outdated versions.
 * @returns the number of items
 */
async function clearRemoval(deps: ClearRemovalDependencies, ref: RemovalRef): Promise<number> {
  let cleared = 0;
  for (;;) {
    const page = await deps.removedItems.listPending(ref, PAGE);
    if (page.length === 0) return cleared;
    const versions = page.map(({ _id, version, keep }) => ({ item: _id, upTo: version, except: keep }));
    // All items of a removal are in one database.
    const { org, database_id } = page[0]!;
    await clearItems(deps, { _id: database_id, org }, versions);
    for (const fileId of page.flatMap((item) => item.files)) await deps.files.remove(fileId);
    await deps.removedItems.markCleared(ref, page);
    cleared += page.length;
  }
}

/** Clears outdated versions; null when there are none. */
export type ClearOutdated = (ref: RemovalRef | null) => Promise<void>;

/** @returns a function that clears at once. When that fails, the reconciler starts the workflow of the removal later */
export function createClearOutdated(deps: ClearRemovalDependencies & { log: Pick<Logger, 'warn'> }): ClearOutdated {
  return async (ref) => {
    if (!ref) return;
    try {
      await clearRemoval(deps, ref);
    } catch (error) {
      deps.log.warn({ err: error, ...ref }, 'outdated versions not cleared; the reconciler will clear them');
    }
  };
}

export type ItemRemovalActivities = ReturnType<typeof createItemRemovalActivities>;

/** The activity of the workflow that clears a removal. */
export function createItemRemovalActivities(deps: ClearRemovalDependencies) {
  return {
    /** Deletes the chunks, index rows, graph and files of a removal. @returns the number of items */
    clearRemovedItems: (ref: RemovalRef): Promise<number> => withHeartbeat(() => clearRemoval(deps, ref)),
  };
}
