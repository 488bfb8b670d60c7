import { searchableText } from '../../domain/content/chunking.js';
import type { OwnedDatabase } from '../../domain/content/databases.js';
import { generationsOf, type IndexGeneration, tableOf } from '../../domain/content/index-generations.js';
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

/** Whether an index has rows of this version: it is served, or in progress, and then its rows may be written already. */
export function hasRows(item: ItemRecord, version: number): boolean {
  const isInProgress = item.version === version && !isFinalState(INDEXING_STATUS_TABLE, item.indexing_status);
  return item.served_version === version || isInProgress;
}

/** @returns the rows of those chunks whose versions have rows */
export function rowsOfCurrent(
  items: readonly ItemRecord[],
  chunks: readonly EmbeddedChunk[],
  schema: readonly FilterableField[],
): IndexRow[] {
  const current = new Map(items.map((item) => [item._id, item]));
  return chunks.flatMap((chunk) => {
    const item = current.get(chunk.item);
    if (!item || !hasRows(item, chunk.version)) return [];
    return rowsOf(item.served_version === chunk.version ? asServed(item) : item, [chunk], schema);
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

/** What writing rows alone needs. */
export interface WriteAloneStores {
  databaseIndexes: Pick<DatabaseIndexes, 'getById'>;
  chunks: Pick<Chunks, 'listById'>;
  items: Pick<Items, 'listByKeys'>;
  itemCatalogue: Pick<ItemCatalogue, 'markRowsWritten'>;
  index: Pick<SearchIndex, 'write'>;
}

/**
 * Writes the rows of chunks to an index that the item's own workflow, a rebuild and changes of its metadata write at the same
 * time. If the item was changed, or another process wrote its rows, during the write, the rows are written again: the last
 * write ran alone. Rows of deleted items and of outdated versions are removed.
 * @param chunks of one database, with vectors of this generation
 */
export async function writeRowsAlone(
  { databaseIndexes, chunks: stored, items, itemCatalogue, index }: WriteAloneStores,
  owned: OwnedDatabase,
  generation: IndexGeneration,
  chunks: readonly EmbeddedChunk[],
  signal?: AbortSignal,
): Promise<void> {
  let found = chunks;
  let pending: readonly Pick<EmbeddedChunk, '_id' | 'item'>[] = chunks;
  while (pending.length > 0) {
    signal?.throwIfAborted();
    const database = await databaseIndexes.getById(owned);
    if (!database) return;
    const owners = await items.listByKeys(owned.org, [...new Set(pending.map(({ item }) => item))]);
    const ids = pending.map(({ _id }) => _id);
    const rows = rowsOfCurrent(owners, found, database.metadata_schema);
    await index.write(tableOf(owned._id, generation), rows, ids);
    const alone = await Promise.all(owners.map((item) => itemCatalogue.markRowsWritten(item)));
    const changed = new Set(owners.filter((_, n) => !alone[n]).map(({ _id }) => _id));
    // Chunks that were deleted stay in the list, so that their rows are removed.
    pending = pending.filter(({ item }) => changed.has(item));
    found = await stored.listById(
      owned._id,
      pending.map(({ _id }) => _id),
      generation.generation,
    );
  }
}

/** The stores that a refresh reads and writes. */
export interface IndexRowsStores extends WriteAloneStores {
  itemCatalogue: Pick<ItemCatalogue, 'clearRowsDue' | 'markRowsWritten'>;
  chunks: Pick<Chunks, 'embeddedPages' | 'listById'>;
}

/**
 * Rewrites the index rows of the served version of an item when they are due, in the index that queries read and in that of a
 * rebuild. A change stays due until its own write has finished, so that the reconciler repeats the write of a process that died.
 * While a version is in progress nothing is written, because its workflow may be writing its rows for an earlier metadata schema.
 * @param ref the key of the item, and its organisation
 * @param change the change to apply; without it, all changes that are due
 */
export async function refreshIndexRows(
  stores: IndexRowsStores,
  ref: { org: string; key: string },
  change?: string,
): Promise<void> {
  for (;;) {
    const [item] = await stores.items.listByKeys(ref.org, [ref.key]);
    if (!item?.rows_due?.length || !isFinalState(INDEXING_STATUS_TABLE, item.indexing_status)) return;
    const owned = { _id: item.database_id, org: ref.org };
    const database = await stores.databaseIndexes.getById(owned);
    // Without a served version there are no chunks to write: versions count from 1.
    const served = { item: item._id, database_id: owned._id, version: item.served_version ?? 0 };
    for (const generation of database ? generationsOf(database) : []) {
      for await (const page of stores.chunks.embeddedPages(served, generation.generation)) {
        await writeRowsAlone(stores, owned, generation, page);
      }
    }
    if (await stores.itemCatalogue.clearRowsDue(item, change === undefined ? item.rows_due : [change])) return;
  }
}
