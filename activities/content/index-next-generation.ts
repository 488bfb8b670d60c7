import type { Logger } from 'pino';
import { describeModel, type Embedders } from '../../domain/content/embedding-models.js';
import type { IndexGeneration } from '../../domain/content/index-generations.js';
import type { Embedder } from '../../domain/content/search.js';
import type { ItemRef } from '../../domain/content/workflow-contract.js';
import { EmbeddingError } from '../../domain/errors.js';
import type { Chunks } from '../../storage/content/chunks.js';
import { type WriteAloneStores, writeRowsAlone } from '../../storage/content/index-rows.js';
import { embedStored } from './embed-chunks.js';

export type IndexNextGenerationDependencies = WriteAloneStores & {
  chunks: Pick<Chunks, 'embeddedPages' | 'setVectors'>;
  embedders: Pick<Embedders, 'current' | 'find'>;
  log: Pick<Logger, 'warn'>;
};

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
  for await (const page of deps.chunks.embeddedPages(ref, generation)) {
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
