import { readFileSync, writeFileSync } from 'node:fs';
import { chunkSections, searchableText } from '../../domain/content/chunking.js';
import { indexedMetadata } from '../../domain/content/indexed-metadata.js';
import type { Embedder, IndexRow } from '../../domain/content/search.js';
import { type Corpus, createCorpus, TOPICS } from '../support/corpus.js';
import { readTestCollection, type TestCollection } from '../support/test-collection.js';

const EMBED_BATCH = 64;
const CHUNKS_PER_ITEM = 4;
const SCHEMA = [{ name: 'year', data_type: 'INT32' as const }];

const JUDGED = { collection: 'judged', metadata: (id: string) => metadataOf(Number(id)) };

/** A question with its vector, and the documents that people judged relevant. */
export interface Question {
  query: string;
  vector: Float32Array;
  relevant: ReadonlySet<string>;
}

/** What both engines get: the chunks of a test collection, and any number of generated ones beside them. */
export interface SearchData {
  questions: readonly Question[];
  /** The chunks of the collection come first. */
  rows(from: number, count: number): IndexRow[];
}

/** The vectors of a test collection and of the topics, in the order in which they are needed. */
type Vectors = Record<'chunks' | 'questions' | 'topics', Float32Array[]>;

/** Embeds a test collection once, for the processes that measure. */
export async function writeVectors(file: string, collection: string, embedder: Embedder): Promise<void> {
  const { documents, queries } = readTestCollection(collection);
  const embed = async (texts: readonly string[]) => {
    const vectors: Float32Array[] = [];
    for (let at = 0; at < texts.length; at += EMBED_BATCH)
      vectors.push(...(await embedder.embedDocuments(texts.slice(at, at + EMBED_BATCH))));
    return vectors;
  };
  const topics: Float32Array[] = [];
  await createCorpus({
    embedDocuments: async (texts) => {
      topics.push(...(await embed(texts)));
      return topics;
    },
  });
  const questions: Float32Array[] = [];
  for (const { query } of queries) questions.push(await embedder.embedQuery(query));
  const vectors: Vectors = {
    chunks: await embed(chunkRows(documents, JUDGED).map(({ text }) => text)),
    questions,
    topics,
  };
  writeFileSync(
    file,
    JSON.stringify(vectors, (_, value) => (value instanceof Float32Array ? Array.from(value) : value)),
  );
}

/** @param file as `writeVectors` writes it */
export async function readSearchData(file: string, collection: string): Promise<SearchData> {
  const vectors = JSON.parse(readFileSync(file, 'utf8'), (_, value) =>
    typeof value?.[0] === 'number' ? Float32Array.from(value) : value,
  ) as Vectors;
  const { documents, queries } = readTestCollection(collection);
  const judged = chunkRows(documents, JUDGED).map((row, at) => ({ ...row, vector: vectors.chunks[at]! }));
  const corpus = await createCorpus({ embedDocuments: async () => vectors.topics });
  return {
    questions: queries.map((question, at) => ({ ...question, vector: vectors.questions[at]! })),
    rows: (from, count) =>
      Array.from({ length: count }, (_, n) => judged[from + n] ?? generatedRow(from + n - judged.length, corpus)),
  };
}

/** @returns the document of a chunk of `chunkRows` */
export const documentOf = ({ chunk_id }: { chunk_id: string }) => chunk_id.slice(0, chunk_id.lastIndexOf(':'));

/** The chunks of a test collection as the product makes them, without their vectors. */
export function chunkRows(
  documents: TestCollection['documents'],
  { collection, metadata }: { collection: string; metadata: (id: string) => IndexRow['metadata'] },
): IndexRow[] {
  return documents.flatMap(({ id, title, text }) =>
    [...chunkSections({ sections: [{ text, headings: [] }] })].map((chunk) => ({
      chunk_id: `${id}:${chunk.ordinal}`,
      source_id: id,
      collection,
      type: 'knowledge' as const,
      text: searchableText(title, chunk),
      vector: null,
      metadata: metadata(id),
    })),
  );
}

function generatedRow(n: number, corpus: Corpus): IndexRow {
  const item = Math.floor(n / CHUNKS_PER_ITEM);
  const topic = item % TOPICS;
  return {
    chunk_id: `g${item}:${n % CHUNKS_PER_ITEM}`,
    source_id: `g${item}`,
    collection: `c${item % 20}`,
    type: 'memory',
    text: corpus.text(topic),
    vector: corpus.vector(topic),
    metadata: metadataOf(item),
  };
}

function metadataOf(n: number) {
  return indexedMetadata(SCHEMA, { brand: `brand-${n % 50}`, year: 1950 + ((n * 7) % 83) }, {});
}
