import { LRUCache } from 'lru-cache';
import { describeModel } from './embedding-models.js';
import type { Embedder } from './search.js';

/** Vectors that are kept: 1.5 MB with 384 dimensions. */
const KEPT = 1_000;

/**
 * Keeps the vectors of the last queries, because people and programs repeat queries, and the model takes a third of the time
 * of a query. Kept by database, so that the response time does not reveal what others have asked.
 */
export function createQueryVectors() {
  const vectors = new LRUCache<string, Promise<Float32Array>>({ max: KEPT });
  return {
    /**
     * @param org who asks
     * @returns the vector of a query; equal queries at the same time share one run
     * @throws EmbeddingError, which is not kept
     */
    get(
      embedder: Pick<Embedder, 'model' | 'dimensions' | 'embedQuery'>,
      databaseId: string,
      query: string,
      org: string,
    ): Promise<Float32Array> {
      const key = `${databaseId}/${describeModel(embedder)}/${query}`;
      const known = vectors.get(key);
      if (known) return known;
      const vector = embedder.embedQuery(query, undefined, org);
      vectors.set(key, vector);
      vector.catch(() => {
        if (vectors.peek(key) === vector) vectors.delete(key);
      });
      return vector;
    },
  };
}
