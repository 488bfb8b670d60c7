import { searchableText } from '../../domain/content/chunking.js';
import type { OwnedDatabase } from '../../domain/content/databases.js';
import { generationsOf, tableOf } from '../../domain/content/index-generations.js';
import { type FilterableField, indexedMetadata } from '../../domain/content/indexed-metadata.js';
import { asServed } from '../../domain/content/items.js';
import type { IndexRow, SearchIndex } from '../../domain/content/search.js';
import { INDEXING_STATUS_TABLE } from '../../domain/content/states.js';
import { isFinalState } from '../../domain/state-machine.js';
import type { Chunks, EmbeddedChunk } from './chunks.js';
import type { DatabaseIndexes } from './database-indexes.js';
import type { ItemCatalogue } from './item-catalogue.js';
import type { ItemRecord, Items } from './items.js';

/** @returns the rows of an item in the search index. Each row has the item's metadata, so that a search can filter by it */
export function rowsOf(
  item: Pick<ItemRecord, 'metadata' | 'additional_metadata' | 'rows_revision'>,
  chunks: readonly EmbeddedChunk[],
  schema: readonly FilterableField[],
): IndexRow[] {
  const metadata = indexedMetadata(schema, item.metadata, item.additional_metadata);
  return chunks.map((chunk) => ({
    chunk_id: chunk._id,
    source_id: chunk.source_id,
    collection: chunk.collection,
    type: chunk.type,
    text: searchableText(chunk.title, chunk),
    language: chunk.language,
    vector: chunk.vector,
    metadata,
    revision: item.rows_revision,
  }));
}

/** @returns the rows of chunks of served versions, and of versions in progress, whose rows may be written already */
export function rowsOfCurrent(
  items: readonly ItemRecord[],
  chunks: readonly EmbeddedChunk[],
  schema: readonly FilterableField[],
): IndexRow[] {
  const current = new Map(items.map((item) => [item._id, item]));
  return chunks.flatMap((chunk) => {
    const item = current.get(chunk.item);
    if (item?.served_version === chunk.version) return rowsOf(asServed(item), [chunk], schema);
    if (item?.version !== chunk.version || isFinalState(INDEXING_STATUS_TABLE, item.indexing_status)) return [];
    return rowsOf(item, [chunk], schema);
  });
}

/** What removing rows needs. */
export interface IndexStores {
  databaseIndexes: Pick<DatabaseIndexes, 'getById'>;
  index: Pick<SearchIndex, 'exists' | 'write'>;
}

/** Removes rows from every index of a database. A deleted database has no index. */
export async function removeRows(
  { databaseIndexes, index }: IndexStores,
  owned: OwnedDatabase,
  chunkIds: readonly string[],
): Promise<void> {
  const database = chunkIds.length === 0 ? null : await databaseIndexes.getById(owned);
  if (!database) return;
  for (const generation of generationsOf(database)) {
    const table = tableOf(owned._id, generation);
    if (await index.exists(table)) await index.write(table, [], chunkIds);
  }
}

/** Chunks in memory at a time: the largest item has thousands, and several clients may change it at once. */
const PAGE = 512;

/** The stores that a refresh reads and writes. */
export interface IndexRowsStores extends IndexStores {
  items: Pick<Items, 'getByKey'>;
  itemCatalogue: Pick<ItemCatalogue, 'markRowsWritten'>;
  chunks: Pick<Chunks, 'listEmbedded'>;
}

/**
 * Rewrites the index rows of the served version of an item when they are due. If the item was changed, or another process wrote its rows, during
 * the write, the rows are written again. So the last write ran alone, and its rows show the current item. A change stays due
 * until its own write has finished, so that the reconciler repeats the write of a process that died. While a version is in
 * progress nothing is written, because its workflow may be writing its rows for an earlier metadata schema.
 * @param ref the key of the item, and its organisation
 * @param change the change to apply; without it, all changes that are due
 */
export async function refreshIndexRows(
  stores: IndexRowsStores,
  ref: { org: string; key: string },
  change?: string,
): Promise<void> {
  let item = await stores.items.getByKey(ref.org, ref.key);
  if (!item?.rows_due?.length) return;
  for (;;) {
    if (!isFinalState(INDEXING_STATUS_TABLE, item.indexing_status)) return;
    const changes = change === undefined ? (item.rows_due ?? []) : [change];
    const written = await writeRows(stores, item);
    if (await stores.itemCatalogue.markRowsWritten(item, changes)) return;
    const { org, database_id, served_version }: ItemRecord = item;
    item = await stores.items.getByKey(ref.org, ref.key);
    // Another version is served, or the item was deleted: these rows may have been written after their removal.
    if (item?.served_version !== served_version) await removeRows(stores, { _id: database_id, org }, written);
    if (!item) return;
  }
}

/**
 * Writes the rows to the index that queries read, and to that of a rebuild.
 * @returns the ids of the rows; an item without a served version has none
 */
async function writeRows({ databaseIndexes, chunks, index }: IndexRowsStores, item: ItemRecord): Promise<string[]> {
  const database = await databaseIndexes.getById({ _id: item.database_id, org: item.org });
  if (item.served_version === null || !database) return [];
  const ref = { item: item._id, database_id: item.database_id, version: item.served_version };
  const ids = new Set<string>();
  for (const generation of generationsOf(database)) {
    const table = tableOf(database._id, generation);
    for (let from = 0; ; from += PAGE) {
      const found = await chunks.listEmbedded(ref, generation.generation, from, PAGE);
      const page = found.map(({ _id }) => _id);
      for (const id of page) ids.add(id);
      await index.write(table, rowsOf(asServed(item), found, database.metadata_schema), page);
      if (found.length < PAGE) break;
    }
  }
  return [...ids];
}
