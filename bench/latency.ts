import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Embedder } from '../domain/content/search.js';
import { createEmbedder } from '../providers/embeddings/index.js';
import { chunkRecords, createChunks, type EmbeddedChunk, withPackedVector } from '../storage/content/chunks.js';
import { createDatabaseIndexes } from '../storage/content/database-indexes.js';
import type { DatabaseRecord } from '../storage/content/databases.js';
import { rowsOf } from '../storage/content/index-rows.js';
import type { ItemRecord } from '../storage/content/items.js';
import { createLanceIndex } from '../storage/content/search-index/lancedb/index.js';
import { call } from './support/api-client.js';
import { type Corpus, createCorpus } from './support/corpus.js';
import { type BenchInstance, startBenchInstance } from './support/instance.js';
import { percentile, perSecond, runConcurrently } from './support/measure.js';
import { benchItem } from './support/records.js';
import { type Figure, printFigures, writeResult } from './support/results.js';
import { createDatabase } from './support/work.js';

const SIZES = [1_000, 10_000, 100_000];
const CHUNKS_PER_ITEM = 4;
const WRITE_BATCH = 2_000;
const WARM_UP = 20;
const QUESTIONS = 100;
/** Clients that ask at the same time, each one question after the other, and their questions together. */
const CLIENTS = 16;
const QUESTIONS_OF_CLIENTS = 600;
/** Questions that are embedded without the product. */
const EMBEDDED = 200;
/** Questions of the first clients after the index has changed or the API has started. */
const FIRST = 5;
const PROCESSES = ['api', 'embedder', 'mongod'];
/** The API loads its indexes in the background after its start. */
const AFTER_START_MS = 10_000;

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
 * Measures p50, p95 and p99 of hybrid queries over HTTP, one after the other, in a growing database, with and without
 * filters, the same from several clients, and the first queries after a compaction and after a restart of the API.
 * @param chunks the largest number of chunks
 */
export async function latency(chunks = String(SIZES.at(-1))): Promise<void> {
  const instance = await startBenchInstance();
  const folder = instance.env.POSTBACK_EMBEDDING_MODEL_DIR!;
  const embedder = createEmbedder({
    kind: 'local',
    modelPath: join(folder, 'model_quantized.onnx'),
    tokenizerPath: join(folder, 'tokenizer.json'),
    threads: 1,
  })!;
  const index = createLanceIndex({ location: join(instance.env.POSTBACK_DATA_DIR!, 'index') });
  const groups: Record<string, Figure[]> = {};
  try {
    const corpus = await createCorpus(embedder);
    groups.limits = [await measureEmbedding(embedder, corpus)];
    const { model, dimensions } = embedder;
    await embedder.close();
    await createDatabase(instance, 'large', { database_metadata_schema: SCHEMA });
    const database = (await instance.collections.databases.findOne({ name: 'large' }))!;
    await createDatabaseIndexes(instance.collections).getForEmbedding(database, embedder);
    const embeddings = { model, dimensions };
    await instance.collections.databases.updateOne({ _id: database._id }, { $set: { 'index.embeddings': embeddings } });
    let stored = 0;
    for (const size of SIZES.filter((each) => each <= Number(chunks))) {
      const started = performance.now();
      for (; stored < size; stored += Math.min(WRITE_BATCH, size - stored)) {
        await store(instance, index, database, corpus, stored, Math.min(WRITE_BATCH, size - stored));
      }
      const written = performance.now();
      await index.compact(database._id);
      const figures: Figure[] = [
        { name: 'stored', value: (written - started) / 1000, unit: 's' },
        { name: 'compacted', value: (performance.now() - written) / 1000, unit: 's' },
        await measureFirst(instance, corpus, 'first questions after the compaction'),
      ];
      for (const [name, filter] of Object.entries(CASES))
        figures.push(...(await measure(instance, corpus, name, filter)));
      figures.push(...(await measureClients(instance, corpus)));
      await restartApi(instance);
      figures.push(await measureFirst(instance, corpus, 'first questions after a restart of the API'));
      figures.push({ name: 'peak memory of the API', value: instance.peakMemory().api, unit: 'MiB' });
      groups[`${size} chunks`] = figures;
      printFigures(`${size} chunks`, figures);
    }
    writeResult('latency', chunks, groups);
  } finally {
    await index.close();
    await instance.stop();
  }
}

async function restartApi(instance: BenchInstance): Promise<void> {
  const before = instance.pids.api();
  instance.kill('api');
  const ready = () =>
    fetch(`${instance.apiUrl}/readyz`).then(
      ({ ok }) => ok && instance.pids.api() !== before,
      () => false,
    );
  while (!(await ready())) await wait(100);
  await wait(AFTER_START_MS);
}

/** @returns the longest of the first questions, which are asked at once */
async function measureFirst(instance: BenchInstance, corpus: Corpus, name: string): Promise<Figure> {
  const times = await Promise.all(Array.from({ length: FIRST }, (_, n) => ask(instance, corpus, n)));
  return { name: `${name}, the longest of ${FIRST} at once`, value: Math.max(...times), unit: 'ms' };
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
    served_version: 1,
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

/** Asks one question. @returns milliseconds. @throws Error when it finds nothing */
async function ask(instance: BenchInstance, corpus: Corpus, n: number, filter: object = {}): Promise<number> {
  const sent = performance.now();
  const question = { database: 'large', query: corpus.question(n * 13), ...filter };
  const { chunks } = await call(instance, 'POST', '/query', question);
  if (chunks.length === 0) throw new Error(`a question with ${JSON.stringify(filter)} has no hits`);
  return performance.now() - sent;
}

/** @returns the time of a question in the model alone, on one core: what every new question takes at least */
async function measureEmbedding(embedder: Pick<Embedder, 'embedQuery'>, corpus: Corpus): Promise<Figure> {
  const started = performance.now();
  for (let n = 0; n < EMBEDDED; n += 1) await embedder.embedQuery(corpus.question(n * 13));
  return { name: 'embedding a question alone', value: (performance.now() - started) / EMBEDDED, unit: 'ms' };
}

/** @returns the processor time of a question in each process that works on it, in milliseconds */
async function measureCpu(instance: BenchInstance, questions: number, ask: () => Promise<unknown>) {
  const before = await instance.processorTimes();
  await ask();
  const after = await instance.processorTimes();
  return Object.fromEntries(PROCESSES.map((name) => [name, (after[name]! - before[name]!) / questions]));
}

async function measure(instance: BenchInstance, corpus: Corpus, name: string, filter: object): Promise<Figure[]> {
  const times: number[] = [];
  for (let n = 0; n < WARM_UP; n += 1) await ask(instance, corpus, n, filter);
  const cpu = await measureCpu(instance, QUESTIONS, async () => {
    for (let n = 0; n < QUESTIONS; n += 1) times.push(await ask(instance, corpus, WARM_UP + n, filter));
  });
  return [
    { name: `${name}, p50`, value: percentile(times, 0.5), unit: 'ms', cpu },
    { name: `${name}, p95`, value: percentile(times, 0.95), unit: 'ms' },
    { name: `${name}, p99`, value: percentile(times, 0.99), unit: 'ms' },
  ];
}

async function measureClients(instance: BenchInstance, corpus: Corpus): Promise<Figure[]> {
  const times: number[] = [];
  let rate = 0;
  const cpu = await measureCpu(instance, QUESTIONS_OF_CLIENTS, async () => {
    rate = await perSecond(QUESTIONS_OF_CLIENTS, () =>
      runConcurrently(QUESTIONS_OF_CLIENTS, CLIENTS, async (n) => {
        times.push(await ask(instance, corpus, n));
      }),
    );
  });
  return [
    { name: `${CLIENTS} clients`, value: rate, unit: 'questions a second', cpu },
    { name: `${CLIENTS} clients, p50`, value: percentile(times, 0.5), unit: 'ms' },
    { name: `${CLIENTS} clients, p95`, value: percentile(times, 0.95), unit: 'ms' },
    { name: `${CLIENTS} clients, p99`, value: percentile(times, 0.99), unit: 'ms' },
  ];
}
