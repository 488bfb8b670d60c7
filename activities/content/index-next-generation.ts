import type { Logger } from 'pino';
import type { OwnedDatabase } from '../../domain/content/databases.js';
import { describeModel, type Embedders } from '../../domain/content/embedding-models.js';
import { type IndexGeneration, tableOf } from '../../domain/content/index-generations.js';
import type { Embedder, SearchIndex } from '../../domain/content/search.js';
import type { ItemRef } from '../../domain/content/workflow-contract.js';
import { EmbeddingError } from '../../domain/errors.js';
import type { Chunks, EmbeddedChunk } from '../../storage/content/chunks.js';
import type { DatabaseIndexes } from '../../storage/content/database-indexes.js';
import { rowsOfCurrent } from '../../storage/content/index-rows.js';
import type { ItemCatalogue } from '../../storage/content/item-catalogue.js';
import type { Items } from '../../storage/content/items.js';
import { embedStored, pagedChunks } from './embed-chunks.js';

export interface WriteAloneDependencies {
  databaseIndexes: Pick<DatabaseIndexes, 'getById'>;
  chunks: Pick<Chunks, 'listById'>;
  items: Pick<Items, 'listByKeys'>;
  itemCatalogue: Pick<ItemCatalogue, 'markRowsWritten'>;
  index: Pick<SearchIndex, 'write'>;
}

export type IndexNextGenerationDependencies = WriteAloneDependencies & {
  chunks: Pick<Chunks, 'listEmbedded' | 'setVectors'>;
  embedders: Pick<Embedders, 'current' | 'find'>;
  log: Pick<Logger, 'warn'>;
};

/**
 * Writes the rows of chunks to an index that a rebuild, the item's own workflow and changes of its metadata write at the same
 * time. If the item was changed, or another process wrote its rows, during the write, the rows are written again: the last
 * write ran alone. Rows of deleted items and of outdated versions are removed.
 * @param chunks of one database, with vectors of this generation
 */
export async function writeRowsAlone(
  { databaseIndexes, chunks: stored, items, itemCatalogue, index }: WriteAloneDependencies,
  owned: OwnedDatabase,
  generation: IndexGeneration,
  chunks: readonly EmbeddedChunk[],
  signal: AbortSignal,
): Promise<void> {
  let found = chunks;
  let pending: readonly ItemChunk[] = chunks;
  while (pending.length > 0) {
    signal.throwIfAborted();
    const database = await databaseIndexes.getById(owned);
    if (!database) return;
    const owners = await items.listByKeys(owned.org, [...new Set(pending.map(({ item }) => item))]);
    const ids = pending.map(({ _id }) => _id);
    const rows = rowsOfCurrent(owners, found, database.metadata_schema);
    await index.write(tableOf(owned._id, generation), rows, ids);
    const alone = await Promise.all(owners.map((item) => itemCatalogue.markRowsWritten(item, [])));
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

type ItemChunk = Pick<EmbeddedChunk, '_id' | 'item'>;

/**
 * Embeds a version for the index of a rebuild, and writes its rows there. Without the model, or while it is unavailable, the rows
 * have no vectors, and the rebuild embeds them before it switches.
 */
export async function indexNextGeneration(
  deps: IndexNextGenerationDependencies,
  ref: ItemRef,
  index: IndexGeneration,
  signal: AbortSignal,
): Promise<void> {
  const { generation } = index;
  const embedder = deps.embedders.find(index.embeddings);
  const pages = await pagedChunks(deps.chunks, ref, generation);
  for await (const page of pages()) {
    try {
      if (embedder) await embedStored(embedder, deps.chunks, page, { ...ref, generation }, signal);
    } catch (error) {
      if (!(error instanceof EmbeddingError)) throw error;
      deps.log.warn({ err: error }, 'not embedded for the index of the rebuild, which will do it');
    }
    await writeRowsAlone(deps, { _id: ref.database_id, org: ref.org }, index, page, signal);
  }
}

/**
 * @returns a function that finds the embedding model of an index. Items are indexed without vectors when this process does not
 * have it: vectors of different models are never mixed, and a rebuild embeds them
 */
export function createModelChoice({ embedders, log }: Pick<IndexNextGenerationDependencies, 'embedders' | 'log'>) {
  const warned = new Set<string>();
  return (databaseId: string, { embeddings }: IndexGeneration): Embedder | null => {
    const embedder = embedders.find(embeddings);
    if (embeddings && !embedder && embedders.current && !warned.has(databaseId)) {
      warned.add(databaseId);
      log.warn(
        { database: databaseId, vectors: describeModel(embeddings), configured: describeModel(embedders.current) },
        'the database has vectors of another model: new items are indexed without vectors until "postback index rebuild --embed"',
      );
    }
    return embedder;
  };
}
