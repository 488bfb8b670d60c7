import type { Client } from '@opensearch-project/opensearch';
import { DEFAULT_LANGUAGE } from '../../../../domain/content/languages.js';
import type { IndexRow } from '../../../../domain/content/search.js';
import { languageColumn, rangeColumn } from '../columns.js';

/** Fields of an index, in OpenSearch's form. */
export type Fields = Record<string, { type: string; dimension?: number; [parameter: string]: unknown }>;

/** What an index can hold at the moment. */
export interface IndexSchema {
  columns: ReadonlySet<string>;
  /** Dimensions of the vectors; null when the index has none yet. */
  dimensions: number | null;
}

/** HNSW: links of a vector, and candidates when one is added. Lucene's own defaults. */
const HNSW = { m: 16, ef_construction: 100 };

/**
 * An index for one table. Writers refresh it after each batch, so it needs no refresh of its own. The first copy is on a
 * second host as soon as there is one. The texts are analysed already: terms are divided by spaces. A field that is missing
 * is an error, because its values could not be searched.
 */
export const NEW_INDEX = {
  settings: {
    index: {
      knn: true,
      number_of_shards: 1,
      auto_expand_replicas: '0-1',
      refresh_interval: '-1',
      codec: 'best_compression',
    },
  },
  mappings: {
    dynamic: 'strict' as const,
    // The vector that is returned is in `vector_bytes`, which is a tenth of its size in JSON.
    _source: { excludes: ['vector'] },
    properties: {
      source_id: { type: 'keyword' },
      collection: { type: 'keyword' },
      type: { type: 'keyword' },
      tags: { type: 'keyword' },
      text: { type: 'text', analyzer: 'whitespace', index_options: 'freqs' },
      vector_bytes: { type: 'binary' },
    },
  },
} satisfies Parameters<Client['indices']['create']>[0]['body'];

/** @returns the fields that rows need in addition to those of every index. @param dimensions null without vectors */
export function fieldsFor(rows: readonly IndexRow[], dimensions: number | null): Fields {
  const fields: Fields = {};
  for (const { language = DEFAULT_LANGUAGE, metadata } of rows) {
    if (language !== DEFAULT_LANGUAGE)
      fields[languageColumn(language)] = { type: 'boolean', index: false, doc_values: false };
    for (const name of metadata.numbers.keys()) fields[rangeColumn('number', name)] = { type: 'double' };
    for (const name of metadata.texts.keys()) fields[rangeColumn('text', name)] = { type: 'keyword' };
  }
  if (dimensions !== null) fields.vector = vectorField(dimensions);
  return fields;
}

function vectorField(dimension: number): Fields[string] {
  const method = { name: 'hnsw', engine: 'lucene', space_type: 'cosinesimil', parameters: HNSW };
  // Lucene reads vectors from their own files. Values of documents would be one more copy.
  return { type: 'knn_vector', dimension, method, doc_values: false };
}

export function schemaOf(fields: Fields): IndexSchema {
  return { columns: new Set(Object.keys(fields)), dimensions: fields.vector?.dimension ?? null };
}

export function isSameSchema(a: IndexSchema, b: IndexSchema): boolean {
  const hasColumn = (name: string) => b.columns.has(name);
  return a.dimensions === b.dimensions && a.columns.size === b.columns.size && [...a.columns].every(hasColumn);
}
