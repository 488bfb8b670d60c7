import type { SearchIndex } from '../domain/search.js';
import type { ItemRef } from '../domain/work.js';
import type { Chunks } from '../storage/chunks.js';
import type { GraphStore } from '../storage/graph.js';

export interface ClearingDependencies {
  chunks: Chunks;
  graph: GraphStore;
  index: SearchIndex;
}

/** Takes away what these versions of a database's items, and earlier ones, have left in index, chunks and graph. */
export async function clearItems(
  { chunks, graph, index }: ClearingDependencies,
  tenant: string,
  refs: readonly ItemRef[],
): Promise<void> {
  const left = await Promise.all(refs.map(({ item, version }) => chunks.idsBefore({ item, version: version + 1 })));
  const ids = left.flat();
  if (ids.length > 0) {
    // The index first: without its chunk a row could not be named any more. A deleted database has no table.
    if (await index.exists(tenant)) await index.write(tenant, [], ids);
    await chunks.remove(ids);
  }
  await Promise.all(refs.map((ref) => graph.removeUpTo(ref)));
}
