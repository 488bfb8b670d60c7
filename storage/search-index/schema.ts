import { createRequire } from 'node:module';
import { type FtsOptions, Index } from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';
import { UNSPACED } from '../../domain/chunking.js';
import type { IndexRow } from '../../domain/search.js';

// Required, not imported: LanceDB requires it too, and knows only objects of that copy's classes as its own.
const arrow: typeof Arrow = createRequire(import.meta.url)('apache-arrow');
const { Field, FixedSizeList, Float32, Schema, Utf8 } = arrow;

/** How text becomes words, for rows and for questions alike. */
export const WORDS = {
  baseTokenizer: 'simple',
  language: 'English',
  maxTokenLength: 40,
  lowercase: true,
  stem: true,
  removeStopWords: true,
  asciiFolding: true,
} as const satisfies Partial<FtsOptions>;

/** Puts spaces around the characters of scripts that have none: the tokenizer would take a whole sentence for one word. */
export function spaced(text: string): string {
  return text.replace(UNSPACED, ' $& ');
}

/** Without positions: phrases are checked on the text itself, which also finds rows that are not indexed yet. */
export const textIndex = () => Index.fts({ ...WORDS, withPosition: false });

const TEXT_COLUMNS = ['chunk_id', 'source_id', 'collection', 'type', 'text'] as const;

/** A table before its first vector: only that tells how many dimensions the model has. */
export const baseSchema = () => new Schema(TEXT_COLUMNS.map((name) => new Field(name, new Utf8(), false)));

export const vectorField = (dimensions: number) =>
  new Field('vector', new FixedSizeList(dimensions, new Field('item', new Float32(), true)), true);

/** @returns the dimensions of a table's vectors, or null when it has none yet */
export function dimensionsOf(schema: Arrow.Schema): number | null {
  const field = schema.fields.find(({ name }) => name === 'vector');
  return field ? (field.type as Arrow.FixedSizeList).listSize : null;
}

/** @returns the one number of dimensions in these rows, null without vectors; throws when they differ */
export function dimensionsIn(rows: readonly IndexRow[]): number | null {
  let dimensions: number | null = null;
  for (const { vector } of rows) {
    if (!vector) continue;
    dimensions ??= vector.length;
    if (vector.length !== dimensions) throw dimensionsDiffer(dimensions, vector.length);
  }
  return dimensions;
}

export function dimensionsDiffer(has: number, got: number): Error {
  return new Error(
    `The search index holds vectors of ${has} dimensions and got one of ${got}: rebuild it for the new model.`,
  );
}

/**
 * Rows as the columns LanceDB takes without copying each number through an object.
 * @param dimensions of the table; null leaves the vector column out
 */
export function columnsOf(rows: readonly IndexRow[], dimensions: number | null): Arrow.Table {
  const columns: Record<string, Arrow.Vector> = {};
  for (const name of TEXT_COLUMNS) {
    columns[name] = arrow.vectorFromArray(
      rows.map((row) => (name === 'text' ? spaced(row.text) : row[name])),
      new Utf8(),
    );
  }
  if (dimensions === null) return new arrow.Table(baseSchema(), columns);
  const field = vectorField(dimensions);
  columns.vector = vectorColumn(rows, field.type as Arrow.FixedSizeList<Arrow.Float32>);
  return new arrow.Table(new Schema([...baseSchema().fields, field]), columns);
}

function vectorColumn(rows: readonly IndexRow[], type: Arrow.FixedSizeList<Arrow.Float32>): Arrow.Vector {
  const numbers = new Float32Array(rows.length * type.listSize);
  // One bit a row, least significant first: set where there is a vector.
  const validity = new Uint8Array(Math.ceil(rows.length / 8));
  let nulls = 0;
  for (const [at, { vector }] of rows.entries()) {
    if (!vector) {
      nulls += 1;
      continue;
    }
    numbers.set(vector, at * type.listSize);
    validity[at >> 3]! |= 1 << (at & 7);
  }
  const child = arrow.makeData({ type: new Float32(), data: numbers });
  return arrow.makeVector(arrow.makeData({ type, length: rows.length, nullCount: nulls, nullBitmap: validity, child }));
}

/**
 * The row every table starts with, in no collection and found by no question. A full-text index without any row leaves
 * the answers of rows that are not indexed yet unsorted (seen in LanceDB 0.37); with one it ranks them as it should.
 */
export function firstRow(): Arrow.Table {
  const row: IndexRow = { chunk_id: '', source_id: '', collection: '', type: 'memory', text: '', vector: null };
  return columnsOf([row], null);
}
