import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { defaultCacheDir, obtainEmbeddingModel } from '../dev-stack/index.js';
import { NO_METADATA } from '../domain/content/indexed-metadata.js';
import type { Embedder, IndexRow, SearchHit } from '../domain/content/search.js';
import { createEmbedder } from '../providers/embeddings/index.js';
import { createLanceIndex } from '../storage/content/search-index/lancedb/index.js';
import { chunkRows } from './search/data.js';
import { mean, normalisedGain } from './support/measure.js';
import { readTestCollection, type TestCollection } from './support/test-collection.js';

const TABLE = 'collection';
const DEPTH = 50;
const EMBED_BATCH = 64;

/**
 * Indexes a test collection without servers, and prints nDCG@10 of vectors, text, both fused by reciprocal rank, and hybrid
 * as the product fuses them.
 * @param folder see `readTestCollection`
 */
export async function fusion(folder: string): Promise<void> {
  const collection = readTestCollection(folder);
  const model = await obtainEmbeddingModel({
    cacheDir: defaultCacheDir(process.env),
    env: process.env,
    log: console.error,
  });
  if ('unavailable' in model) throw new Error(model.unavailable);
  const tokenizerPath = join(dirname(model.modelPath), 'tokenizer.json');
  const embedder = createEmbedder({ kind: 'local', modelPath: model.modelPath, tokenizerPath })!;
  const location = mkdtempSync(join(tmpdir(), 'postback-fusion-'));
  const index = createLanceIndex({ location });
  try {
    await index.create(TABLE);
    await index.write(TABLE, await rowsOf(collection, embedder));
    await index.compact(TABLE);
    const gains: Record<string, number[]> = { vector: [], text: [], 'reciprocal rank': [], hybrid: [] };
    for (const { query, relevant } of collection.queries) {
      const vector = await embedder.embedQuery(query);
      const search = (mode: 'text' | 'vector' | 'hybrid') =>
        index.search(TABLE, { mode, query, operator: 'or', vector, limit: DEPTH });
      const [text, vectors] = [await search('text'), await search('vector')];
      const rankings = {
        vector: vectors,
        text,
        'reciprocal rank': reciprocalRank(text, vectors),
        hybrid: await search('hybrid'),
      };
      for (const [name, hits] of Object.entries(rankings)) {
        gains[name]!.push(normalisedGain([...new Set(hits.map(({ source_id }) => source_id))], relevant));
      }
    }
    console.log(`${collection.documents.length} documents, ${collection.queries.length} queries: nDCG@10`);
    for (const [name, values] of Object.entries(gains)) console.log(`${name.padEnd(16)} ${mean(values).toFixed(3)}`);
  } finally {
    await index.close();
    await embedder.close();
    rmSync(location, { recursive: true, force: true });
  }
}

async function rowsOf({ documents }: TestCollection, embedder: Embedder): Promise<IndexRow[]> {
  const rows = chunkRows(documents, { collection: 'default', metadata: () => NO_METADATA });
  for (let from = 0; from < rows.length; from += EMBED_BATCH) {
    const batch = rows.slice(from, from + EMBED_BATCH);
    const vectors = await embedder.embedDocuments(batch.map(({ text }) => text));
    for (const [at, row] of batch.entries()) row.vector = vectors[at]!;
  }
  return rows;
}

/** The usual fusion without scores, for comparison (Cormack, Clarke and Büttcher, SIGIR 2009). */
function reciprocalRank(...rankings: SearchHit[][]): SearchHit[] {
  const fused = new Map<string, SearchHit>();
  for (const ranking of rankings) {
    for (const [at, hit] of ranking.entries()) {
      const score = (fused.get(hit.chunk_id)?.score ?? 0) + 1 / (60 + at + 1);
      fused.set(hit.chunk_id, { ...hit, score });
    }
  }
  return [...fused.values()].sort((a, b) => b.score - a.score);
}
