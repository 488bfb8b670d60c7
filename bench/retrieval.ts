import { setTimeout as wait } from 'node:timers/promises';
import { QUERY_MODES } from '../domain/content/search.js';
import { FINAL_INDEXING_STATUSES } from '../domain/content/states.js';
import { call } from './support/api-client.js';
import { startBenchInstance } from './support/instance.js';
import { mean, normalisedGain, percentile } from './support/measure.js';
import { readTestCollection } from './support/test-collection.js';
import { createDatabase, ingest } from './support/work.js';

const INGEST_BATCH = 200;

/**
 * Ingests a test collection through the API and prints nDCG@10 of text, vector and hybrid search.
 * @param folder holds `documents.jsonl` and `queries.jsonl`, see `bench/README.md`
 */
export async function retrieval(folder: string): Promise<void> {
  const { documents, queries } = readTestCollection(folder);
  const instance = await startBenchInstance();
  try {
    await createDatabase(instance, 'collection');
    const started = performance.now();
    for (let n = 0; n < documents.length; n += INGEST_BATCH) {
      const batch = documents
        .slice(n, n + INGEST_BATCH)
        .map(({ id, title, text }) => ({ id, text, ...(title === null ? {} : { title }) }));
      await ingest(instance, 'collection', 'app_knowledge', batch);
    }
    await untilIndexed(instance.collections, documents.length);
    const seconds = (performance.now() - started) / 1000;
    console.log(
      `\n${documents.length} documents indexed in ${seconds.toFixed(0)} s (${(documents.length / seconds).toFixed(1)} /s)`,
    );
    for (const mode of QUERY_MODES) {
      const scores: number[] = [];
      const times: number[] = [];
      for (const { query, relevant } of queries) {
        const sent = performance.now();
        const { chunks } = await call(instance, 'POST', '/query', {
          database: 'collection',
          query,
          query_by: mode,
          max_results: 30,
          graph_context: false,
        });
        times.push(performance.now() - sent);
        const ranked = [...new Set((chunks as { source_id: string }[]).map((chunk) => chunk.source_id))];
        scores.push(normalisedGain(ranked, relevant));
      }
      const at = (share: number) => percentile(times, share).toFixed(0);
      console.log(`${mode.padEnd(7)} nDCG@10 ${mean(scores).toFixed(3)}   p50 ${at(0.5)} ms, p95 ${at(0.95)} ms`);
    }
    const { api, worker } = instance.peakMemory();
    console.log(`peak memory: API ${api} MiB, worker ${worker} MiB`);
  } finally {
    await instance.stop();
  }
}

async function untilIndexed(
  collections: { items: { countDocuments(filter: object): Promise<number> } },
  count: number,
): Promise<void> {
  while ((await collections.items.countDocuments({ indexing_status: { $in: FINAL_INDEXING_STATUSES } })) < count)
    await wait(500);
}
