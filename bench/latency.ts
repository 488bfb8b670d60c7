import { loadavg } from 'node:os';
import { join } from 'node:path';
import { call } from '../cli/api-client.js';
import { rowsOf } from '../domain/content/index-rows.js';
import { createEmbedder } from '../providers/embeddings/index.js';
import { chunkRecords, createChunks, type EmbeddedChunk, withPackedVector } from '../storage/content/chunks.js';
import type { DatabaseRecord } from '../storage/content/databases.js';
import type { ItemRecord } from '../storage/content/items.js';
import { createLanceIndex } from '../storage/content/search-index/index.js';
import { type Corpus, createCorpus } from './support/corpus.js';
import { type BenchInstance, startBenchInstance } from './support/instance.js';
import { percentile } from './support/measure.js';
import { benchItem } from './support/records.js';
import { createDatabase } from './support/work.js';

const SIZES = [1_000, 10_000, 100_000];
const CHUNKS_PER_ITEM = 4;
const WRITE_BATCH = 2_000;
const WARM_UP = 20;
const QUESTIONS = 100;

const SCHEMA = [
  { name: 'brand', data_type: 'VARCHAR' },
  { name: 'year', data_type: 'INT32' },
];
const CASES: Record<string, object> = {
  'no filter': {},
  'a collection of 20': { collection: 'c7' },
  'equality, 2 %': { metadata_filters: { brand: 'brand-7' } },
  'range, 40 %': { metadata_filters: { year: { $gte: 2000 } } },
  'equality and range': { metadata_filters: { brand: 'brand-7', year: { $gte: 2000 } } },
  not: { metadata_filters: { brand: { $ne: 'brand-7' } } },
  'recency bias': { recency_bias: 0.3 },
};

/**
 * Measures p50 and p95 of hybrid queries over HTTP, one after the other, in a growing database, with and without
 * filters.
 */
export async function latency(): Promise<void> {
  const instance = await startBenchInstance();
  const folder = instance.env.POSTBACK_EMBEDDING_MODEL_DIR!;
  const embedder = createEmbedder({
    kind: 'local',
    modelPath: join(folder, 'model_quantized.onnx'),
    tokenizerPath: join(folder, 'tokenizer.json'),
    threads: 1,
  })!;
  const index = createLanceIndex({ location: join(instance.env.POSTBACK_DATA_DIR!, 'index') });
  try {
    const corpus = await createCorpus(embedder);
    const { model, dimensions } = embedder;
    await embedder.close();
    await createDatabase(instance, 'large', { database_metadata_schema: SCHEMA });
    const database = (await instance.collections.databases.findOne({ name: 'large' }))!;
    const embeddings = { model, dimensions };
    await instance.collections.databases.updateOne({ _id: database._id }, { $set: { 'index.embeddings': embeddings } });
    let stored = 0;
    for (const size of SIZES) {
      const started = performance.now();
      for (; stored < size; stored += Math.min(WRITE_BATCH, size - stored)) {
        await store(instance, index, database, corpus, stored, Math.min(WRITE_BATCH, size - stored));
      }
      const written = performance.now();
      await index.compact(database._id);
      const seconds = (from: number, to: number) => ((to - from) / 1000).toFixed(1);
      console.log(
        `\n${size} chunks: stored in ${seconds(started, written)} s, compacted in ${seconds(written, performance.now())} s`,
      );
      for (const [name, filter] of Object.entries(CASES)) await measure(instance, corpus, name, filter);
      console.log(`peak memory of the API: ${instance.peakMemory().api} MiB`);
    }
  } finally {
    await index.close();
    await instance.stop();
  }
}

/** Writes the records and index rows of indexed items, without the work of indexing. */
async function store(
  { collections }: BenchInstance,
  index: ReturnType<typeof createLanceIndex>,
  database: DatabaseRecord,
  corpus: Corpus,
  from: number,
  count: number,
): Promise<void> {
  const first = from / CHUNKS_PER_ITEM;
  const items = Array.from({ length: count / CHUNKS_PER_ITEM }, (_, n) => indexedItem(database, first + n));
  await collections.items.insertMany(items, { ordered: false });
  const chunks = items.map((item) => chunksOf(item, corpus));
  await createChunks(collections).put(chunks.flat().map((chunk) => withPackedVector(chunk, 1)));
  await index.write(
    database._id,
    items.flatMap((item, n) => rowsOf(item, chunks[n]!, SCHEMA)),
  );
}

function indexedItem({ _id: databaseId, org, name }: DatabaseRecord, n: number): ItemRecord {
  const created = new Date(Date.UTC(2020, 0, 1) + n * 3_600_000);
  return benchItem({
    _id: `itm_${String(n).padStart(26, '0')}`,
    org,
    database_id: databaseId,
    database: name,
    collection: `c${n % 20}`,
    id: `doc-${n}`,
    type: 'knowledge',
    metadata: { brand: `brand-${n % 50}`, year: 1950 + ((n * 7) % 83) },
    additional_metadata: { url: `https://example.com/${n}` },
    indexing_status: 'completed',
    check_at: created,
    created_at: created,
    updated_at: created,
  });
}

function chunksOf(item: ItemRecord, corpus: Corpus): EmbeddedChunk[] {
  const topic = Number(item.id.slice(4));
  const texts = Array.from({ length: CHUNKS_PER_ITEM }, (_, ordinal) => ({
    ordinal,
    text: corpus.text(topic),
    headings: [],
  }));
  return chunkRecords(item, null, texts).map((record) => ({ ...record, vector: corpus.vector(topic) }));
}

async function measure(instance: BenchInstance, corpus: Corpus, name: string, filter: object): Promise<void> {
  const times: number[] = [];
  let fewest = Number.POSITIVE_INFINITY;
  let cpu = 0;
  for (let n = 0; n < WARM_UP + QUESTIONS; n++) {
    const question = { database: 'large', query: corpus.question(n * 13), ...filter };
    if (n === WARM_UP) cpu = instance.apiCpu();
    const sent = performance.now();
    const { chunks } = await call(instance, 'POST', '/query', question);
    if (n < WARM_UP) continue;
    times.push(performance.now() - sent);
    fewest = Math.min(fewest, chunks.length);
  }
  const cpuPerQuery = ((instance.apiCpu() - cpu) / QUESTIONS).toFixed(1).padStart(6);
  const at = (share: number) => percentile(times, share).toFixed(1).padStart(6);
  console.log(
    `${name.padEnd(20)} p50 ${at(0.5)} ms   p95 ${at(0.95)} ms   API ${cpuPerQuery} ms CPU   at least ${fewest} hits   load ${loadavg()[0]!.toFixed(1)}`,
  );
}
