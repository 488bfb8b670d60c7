import { inBatches } from '../../domain/batches.js';
import { searchableText } from '../../domain/content/chunking.js';
import type { Embedder } from '../../domain/content/search.js';
import type { Chunks, EmbeddedChunk } from '../../storage/content/chunks.js';

/** Chunks embedded and stored at a time; a killed worker repeats at most this many. */
const BATCH = 64;

export interface EmbeddingTarget {
  database_id: string;
  org: string;
  generation: number;
}

/** Embeds the chunks of one organisation that have no vector yet, and adds their vectors to them. */
export async function embedMissing(
  model: Pick<Embedder, 'embedDocuments'>,
  all: readonly EmbeddedChunk[],
  org: string,
  signal: AbortSignal,
): Promise<void> {
  const missing = all.filter((chunk) => chunk.vector === null);
  if (missing.length === 0) return;
  const texts = missing.map((chunk) => searchableText(chunk.title, chunk));
  const vectors = await model.embedDocuments(texts, signal, org);
  for (const [n, chunk] of missing.entries()) chunk.vector = vectors[n]!;
}

/**
 * Embeds stored chunks that have no vector yet, and stores their vectors batch by batch.
 * @param target where the chunks are, whose they are, and the generation of the index that the vectors are for
 */
export async function embedStored(
  model: Pick<Embedder, 'embedDocuments'>,
  chunks: Pick<Chunks, 'setVectors'>,
  all: readonly EmbeddedChunk[],
  { generation, org, database_id }: EmbeddingTarget,
  signal: AbortSignal,
): Promise<void> {
  const missing = all.filter((chunk) => chunk.vector === null);
  for (const batch of inBatches(missing, { count: BATCH })) {
    await embedMissing(model, batch, org, signal);
    await chunks.setVectors(database_id, new Map(batch.map(({ _id, vector }) => [_id, vector!])), generation);
  }
}
