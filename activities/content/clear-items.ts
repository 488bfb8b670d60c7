import type { SearchIndex } from '../../domain/content/search.js';
import type { ItemRef } from '../../domain/content/workflow-contract.js';
import type { Chunks } from '../../storage/content/chunks.js';
import type { GraphStore } from '../../storage/content/graph.js';

export interface ClearItemsDependencies {
  chunks: Pick<Chunks, 'listOlderIds' | 'remove'>;
  graph: Pick<GraphStore, 'removeUpTo'>;
  index: Pick<SearchIndex, 'exists' | 'write'>;
}

/**
 * Deletes the index rows, chunks and graph of items. Files are deleted by the caller.
 * @param databaseId the database of all these items
 * @param refs each means this version and all earlier versions of the item
 */
export async function clearItems(
  { chunks, graph, index }: ClearItemsDependencies,
  databaseId: string,
  refs: readonly ItemRef[],
): Promise<void> {
  const ids = await Promise.all(refs.map(({ item, version }) => chunks.listOlderIds({ item, version: version + 1 })));
  const chunkIds = ids.flat();
  if (chunkIds.length > 0) {
    // Index rows are found by the ids of their chunks, so they go first. A deleted database has no table.
    if (await index.exists(databaseId)) await index.write(databaseId, [], chunkIds);
    await chunks.remove(chunkIds);
  }
  await Promise.all(refs.map((ref) => graph.removeUpTo(ref)));
}
