import type { SearchEngine } from '../../domain/content/index-generations.js';
import type { IndexRow, QueryMode, SearchRequest } from '../../domain/content/search.js';
import { cpuMs, peakMiB } from '../support/instance.js';
import { durationMs, mean, normalisedGain, percentile, runConcurrently } from '../support/measure.js';
import type { Figure } from '../support/results.js';
import { documentOf, type Question, readSearchData } from './data.js';
import { ENGINES, type MeasuredEngine } from './engines.js';

/** One engine with one number of chunks. */
export interface Run {
  engine: SearchEngine;
  chunks: number;
  /** For the engine's files. */
  folder: string;
  /** The file with the vectors. */
  vectors: string;
  /** The folder of the test collection. */
  collection: string;
}

const TABLE = 'chunks';
const WRITE_BATCH = 1_000;
const SINGLE_WRITES = 200;
const WRITERS = 20;
const WARM_UP = 20;
/** Chunks of a response. Documents with several chunks leave ten documents of thirty chunks. */
const LIMIT = 30;

const CASES: Record<string, Partial<SearchRequest> & { mode: QueryMode }> = {
  hybrid: { mode: 'hybrid' },
  text: { mode: 'text' },
  vector: { mode: 'vector' },
  'hybrid, range of 40 %': { mode: 'hybrid', metadata: { field: 'year', comparison: '>=', value: 2000 } },
};

/** Writes the chunks into an empty engine, and measures writes, questions, memory and the size of the files. */
export async function measureEngine({ engine, chunks, folder, vectors, collection }: Run): Promise<Figure[]> {
  const { rows, questions } = await readSearchData(vectors, collection);
  const measured = await ENGINES[engine](folder);
  try {
    const figures = await measureWrites(measured, chunks, rows);
    for (const [name, request] of Object.entries(CASES))
      figures.push(...(await measureQuestions(measured, name, request, questions)));
    figures.push(...(await measureSingleWrites(measured, rows(chunks, SINGLE_WRITES))));
    figures.push(...memoryOf(measured));
    await measured.index.compact(TABLE);
    const stored = await measured.storedBytes(TABLE);
    figures.push({ name: 'files', value: stored / 2 ** 20, unit: 'MiB' });
    figures.push({ name: 'files, each chunk', value: stored / (chunks + SINGLE_WRITES), unit: 'bytes' });
    return figures;
  } finally {
    await measured.close();
  }
}

async function measureWrites(
  { index, settle, serverPid }: MeasuredEngine,
  chunks: number,
  rows: (from: number, count: number) => IndexRow[],
): Promise<Figure[]> {
  await index.create(TABLE);
  let ms = 0;
  const cpu: Record<string, number> = {};
  for (let from = 0; from < chunks; from += WRITE_BATCH) {
    const batch = rows(from, Math.min(WRITE_BATCH, chunks - from));
    const before = cpuOf(serverPid);
    ms += await durationMs(() => index.write(TABLE, batch));
    for (const [name, each] of Object.entries(cpuSince(before, serverPid, chunks))) cpu[name] = (cpu[name] ?? 0) + each;
  }
  const compacted = await durationMs(async () => {
    await index.compact(TABLE);
    await settle();
  });
  return [
    { name: 'chunks written, 1,000 at a time', value: chunks / (ms / 1000), unit: 'a second', cpu },
    { name: 'compaction, or the end of merges', value: compacted / 1000, unit: 's' },
  ];
}

/** nDCG@10 of questions without a filter: a filter leaves out documents that people judged relevant. */
async function measureQuestions(
  { index, serverPid }: MeasuredEngine,
  name: string,
  request: Partial<SearchRequest> & { mode: QueryMode },
  questions: readonly Question[],
): Promise<Figure[]> {
  const ask = ({ query, vector }: Question) =>
    index.search(TABLE, { query, vector, operator: 'or', limit: LIMIT, ...request });
  for (const question of questions.slice(0, WARM_UP)) await ask(question);
  const times: number[] = [];
  const gains: number[] = [];
  const before = cpuOf(serverPid);
  for (const question of questions) {
    const sent = performance.now();
    const hits = await ask(question);
    times.push(performance.now() - sent);
    if (hits.length === 0) throw new Error(`${name}: a question has no hits`);
    gains.push(normalisedGain([...new Set(hits.map(documentOf))], question.relevant));
  }
  const cpu = cpuSince(before, serverPid, questions.length);
  return [
    ...(request.metadata ? [] : [{ name: `${name}, nDCG@10`, value: mean(gains), unit: '' }]),
    { name: `${name}, p50`, value: percentile(times, 0.5), unit: 'ms', cpu },
    { name: `${name}, p95`, value: percentile(times, 0.95), unit: 'ms' },
  ];
}

async function measureSingleWrites({ index }: MeasuredEngine, rows: readonly IndexRow[]): Promise<Figure[]> {
  const times: number[] = [];
  const ms = await durationMs(() =>
    runConcurrently(rows.length, WRITERS, async (n) => {
      times.push(await durationMs(() => index.write(TABLE, [rows[n]!])));
    }),
  );
  return [
    { name: `single chunks, ${WRITERS} writers`, value: rows.length / (ms / 1000), unit: 'a second' },
    { name: 'a single chunk, until searches see it, p95', value: percentile(times, 0.95), unit: 'ms' },
  ];
}

function memoryOf({ serverPid }: MeasuredEngine): Figure[] {
  const own = peakMiB(process.pid);
  const server = serverPid === undefined ? 0 : peakMiB(serverPid);
  return [
    { name: 'memory of the process that asks, at its largest', value: own, unit: 'MiB' },
    { name: 'the same with the server of the engine', value: own + server, unit: 'MiB' },
  ];
}

/** Processor time so far, by process. */
function cpuOf(serverPid: number | undefined): Record<string, number> {
  return { asking: cpuMs(process.pid), ...(serverPid === undefined ? {} : { server: cpuMs(serverPid) }) };
}

/** @returns the processor time since the first reading for each of some units */
function cpuSince(before: Record<string, number>, serverPid: number | undefined, units: number) {
  return Object.fromEntries(Object.entries(cpuOf(serverPid)).map(([name, ms]) => [name, (ms - before[name]!) / units]));
}
