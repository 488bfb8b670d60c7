import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Documents with queries, and for each query the documents that people judged relevant. */
export interface TestCollection {
  documents: {
    id: string;
    title: string | null;
    text: string;
    /** The id of the turn before, in conversations. */
    previous?: string | undefined;
    date?: string | undefined;
  }[];
  queries: { query: string; relevant: Set<string> }[];
}

/** @param folder holds `documents.jsonl` and `queries.jsonl`, see `bench/README.md` */
export function readTestCollection(folder: string): TestCollection {
  const documents = jsonLines<{
    id: string | number;
    title?: string | null;
    text: string;
    previous?: string;
    date?: string;
  }>(join(folder, 'documents.jsonl'));
  const queries = jsonLines<{ query: string; relevant: (string | number)[] }>(join(folder, 'queries.jsonl'));
  return {
    documents: documents
      .filter(({ text }) => text.trim() !== '')
      .map(({ id, title, text, previous, date }) => ({ id: String(id), title: title ?? null, text, previous, date })),
    queries: queries.map(({ query, relevant }) => ({ query, relevant: new Set(relevant.map(String)) })),
  };
}

function jsonLines<T>(path: string): T[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as T);
}
