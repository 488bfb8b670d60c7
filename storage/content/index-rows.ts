import { indexedMetadata } from '../../domain/content/indexed-metadata.js';
import type { SearchIndex } from '../../domain/content/search.js';
import type { ItemRef } from '../../domain/content/workflow-contract.js';
import { type Chunks, indexRow, unpackVector } from './chunks.js';
import type { Databases } from './databases.js';
import type { ItemCatalogue } from './item-catalogue.js';
import type { ItemRecord, Items } from './items.js';

export interface IndexRowsDependencies {
  databases: Databases;
  items: Items;
  itemCatalogue: ItemCatalogue;
  chunks: Chunks;
  index: SearchIndex;
}

/**
 * Writes the index rows of an item again when they are due. Whoever finds that the item was changed, or its rows written,
 * while it wrote, in this process or another, writes again: so the last one has written alone, what the item says, each
 * row once. Until then its own change stays due, even if others have written theirs: so whoever dies or fails after
 * writing what is old by then is made up for.
 * @param change the one that is followed; all that are due, where nobody else is known to follow them
 */
export async function refreshIndexRows(deps: IndexRowsDependencies, ref: ItemRef, change?: string): Promise<void> {
  let item = await deps.items.getByRef(ref);
  if (!item?.rows_due?.length) return;
  for (;;) {
    const changes = change === undefined ? (item.rows_due ?? []) : [change];
    const written = await writeRows(deps, item);
    if (await deps.itemCatalogue.markRowsWritten(item, changes)) return;
    const { database_id: databaseId } = item;
    item = await deps.items.getByRef(ref);
    if (!item) {
      // Replaced or deleted meanwhile, and these rows may have come after their removal.
      await deps.index.write(databaseId, [], written);
      return;
    }
  }
}

/** @returns the ids of the rows; an item that is not completed has none */
async function writeRows({ databases, chunks, index }: IndexRowsDependencies, item: ItemRecord): Promise<string[]> {
  if (item.indexing_status !== 'completed') return [];
  const schema = await databases.metadataSchema(item.database_id);
  const metadata = indexedMetadata(schema, item.metadata, item.additional_metadata);
  const found = await chunks.listByRef({ item: item._id, version: item.version });
  const rows = found.map((chunk) => indexRow(chunk, chunk.vector ? unpackVector(chunk.vector) : null, metadata));
  const ids = found.map(({ _id }) => _id);
  await index.write(item.database_id, rows, ids);
  return ids;
}
