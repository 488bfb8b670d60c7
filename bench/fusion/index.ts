import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { defaultCacheDir, obtainEmbeddingModel } from '../../dev-stack/index.js';
import type { VectorHit } from '../../domain/content/fusion.js';
import { NO_METADATA } from '../../domain/content/indexed-metadata.js';
import type { Embedder, IndexRow } from '../../domain/content/search.js';
import { createEmbedder } from '../../providers/embeddings/index.js';
import { createLanceIndex } from '../../storage/content/search-index/lancedb/index.js';
import { chunkRows, documentOf } from '../search/data.js';
import { mean, normalisedGain } from '../support/measure.js';
import { readTestCollection, type TestCollection } from '../support/test-collection.js';
import { DEEPEST, type Lists, VARIANTS } from './variants.js';

const TABLE = 'collection';
const EMBED_BATCH = 64;

/** nDCG@10 of each variant. */
type Gains = Record<string, number>;

/**
 * Indexes test collections without servers, fuses the two rankings of each question in many ways, and prints nDCG@10 of each way
 * by collection, its mean, and by how much it is above the better of its parts where that is least.
 * @param folders see `readTestCollection`
 */
export async function fusion(...folders: string[]): Promise<void> {
  const embedder = await localEmbedder();
  const results: [string, Gains][] = [];
  try {
    for (const folder of folders) {
      for (const [form, collection] of Object.entries(formsOf(readTestCollection(folder)))) {
        console.error(
          `${folder}${form}: ${collection.documents.length} documents, ${collection.queries.length} queries`,
        );
        results.push([`${basename(folder)}${form}`, await gainsOf(collection, embedder)]);
      }
    }
  } finally {
    await embedder.close();
  }
  print(results);
}

/** The collection as it is and, for conversations, with the turn before, and with the date, in front of each turn. */
function formsOf(collection: TestCollection): Record<string, TestCollection> {
  const { documents } = collection;
  const textOf = new Map(documents.map(({ id, text }) => [id, text]));
  const withFront = (frontOf: (document: TestCollection['documents'][number]) => string | undefined) => ({
    ...collection,
    documents: documents.map((document) => {
      const front = frontOf(document);
      return front === undefined ? document : { ...document, text: `${front}\n${document.text}` };
    }),
  });
  return {
    '': collection,
    ...(documents.some(({ previous }) => previous !== undefined)
      ? { ' + turn before': withFront(({ previous }) => (previous === undefined ? previous : textOf.get(previous))) }
      : {}),
    ...(documents.some(({ date }) => date !== undefined) ? { ' + date': withFront(({ date }) => date) } : {}),
  };
}

async function localEmbedder(): Promise<Embedder> {
  const model = await obtainEmbeddingModel({
    cacheDir: defaultCacheDir(process.env),
    env: process.env,
    log: console.error,
  });
  if ('unavailable' in model) throw new Error(model.unavailable);
  const tokenizerPath = join(dirname(model.modelPath), 'tokenizer.json');
  return createEmbedder({ kind: 'local', modelPath: model.modelPath, tokenizerPath })!;
}

async function gainsOf(collection: TestCollection, embedder: Embedder): Promise<Gains> {
  const location = mkdtempSync(join(tmpdir(), 'postback-fusion-'));
  const index = createLanceIndex({ location });
  try {
    const rows = await rowsOf(collection, embedder);
    await index.create(TABLE);
    await index.write(TABLE, rows);
    await index.compact(TABLE);
    const gains = new Map<string, number[]>(Object.keys(VARIANTS).map((name) => [name, []]));
    for (const { query, relevant } of collection.queries) {
      const vector = await embedder.embedQuery(query);
      const words = await index.search(TABLE, { mode: 'text', query, operator: 'or', vector, limit: DEEPEST });
      const lists: Lists = { query, vector, words, vectors: nearest(rows, vector) };
      for (const [name, variant] of Object.entries(VARIANTS)) {
        const sources = new Set(variant(lists).map(documentOf));
        gains.get(name)!.push(normalisedGain([...sources], relevant));
      }
    }
    return Object.fromEntries([...gains].map(([name, values]) => [name, mean(values)]));
  } finally {
    await index.close();
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

/** @returns hits by cosine similarity, which the index returns only as shares of the best */
function nearest(rows: readonly IndexRow[], query: Float32Array): VectorHit[] {
  return rows
    .map(({ chunk_id, source_id, collection, vector }) => ({
      ...{ chunk_id, source_id, collection, vector: vector! },
      score: query.reduce((sum, value, at) => sum + value * vector![at]!, 0),
    }))
    .sort((a, b) => b.score - a.score)
    .slice(0, DEEPEST);
}

function print(results: readonly [string, Gains][]): void {
  const widths = results.map(([name]) => Math.max(name.length, 5));
  const line = (name: string, values: readonly string[]) =>
    console.log([name.padEnd(40), ...values.map((value, at) => value.padStart(widths[at] ?? 6))].join('  '));
  line('nDCG@10', [...results.map(([name]) => name), 'mean', 'least gain']);
  for (const name of Object.keys(VARIANTS)) {
    const values = results.map(([, gains]) => gains[name]!);
    const gained = results.map(([, gains]) => gains[name]! - Math.max(gains.text!, gains.vectors!));
    line(name, [...values.map((value) => value.toFixed(3)), mean(values).toFixed(4), Math.min(...gained).toFixed(3)]);
  }
}
