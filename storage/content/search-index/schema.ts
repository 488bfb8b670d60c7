import { createRequire } from 'node:module';
import { type FtsOptions, Index } from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';
import { UNSPACED } from '../../../domain/content/chunking.js';
import { NO_METADATA } from '../../../domain/content/indexed-metadata.js';
import type { IndexRow } from '../../../domain/content/search.js';

// Required, not imported: LanceDB requires it too, and knows only objects of that copy's classes as its own.
const arrow: typeof Arrow = createRequire(import.meta.url)('apache-arrow');
const { Field, FixedSizeList, Float32, Float64, List, Schema, Utf8 } = arrow;

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

/** Equality, lists and existence are asked of these; null in rows of before there were any. */
const tagsField = () => new Field('tags', new List(new Field('item', new Utf8(), true)), true);

/**
 * A column for ranges, one for each metadata field that a row has a value of. Its name holds the field's as hex, so that
 * any name makes a column and none can be mistaken for something else.
 */
export const rangeColumn = (kind: 'number' | 'text', field: string) => `${kind}_${Buffer.from(field).toString('hex')}`;

/** The columns of metadata that these rows need and that a table may lack, with what each row has in them. */
function metadataColumns(rows: readonly IndexRow[]) {
  const tags = { field: tagsField(), values: rows.map(({ metadata }): unknown => metadata.tags) };
  const ranges = (kind: 'number' | 'text', of: (row: IndexRow) => ReadonlyMap<string, unknown>) =>
    [...new Set(rows.flatMap((row) => [...of(row).keys()]))].map((name) => ({
      field: new Field(rangeColumn(kind, name), kind === 'number' ? new Float64() : new Utf8(), true),
      values: rows.map((row) => of(row).get(name) ?? null),
    }));
  return [tags, ...ranges('number', (row) => row.metadata.numbers), ...ranges('text', (row) => row.metadata.texts)];
}

/** The columns that rows need beside those that every table has. @param dimensions null without vectors */
export function fieldsFor(rows: readonly IndexRow[], dimensions: number | null): Arrow.Field[] {
  const metadata: Arrow.Field[] = metadataColumns(rows).map(({ field }) => field);
  return dimensions === null ? metadata : [...metadata, vectorField(dimensions)];
}

const vectorField = (dimensions: number) =>
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
 * Rows as the columns LanceDB takes without copying each number through an object. Columns of the table that none of the
 * rows has a value for are left out, and are null.
 * @param dimensions of the table; null leaves the vector column out
 */
export function columnsOf(rows: readonly IndexRow[], dimensions: number | null): Arrow.Table {
  const fields: Arrow.Field[] = [];
  const columns: Record<string, Arrow.Vector> = {};
  const add = (field: Arrow.Field, values: readonly unknown[]) => {
    fields.push(field);
    columns[field.name] = arrow.vectorFromArray<Arrow.DataType>(values, field.type);
  };
  for (const name of TEXT_COLUMNS) {
    const values = rows.map((row) => (name === 'text' ? spaced(row.text) : row[name]));
    add(new Field(name, new Utf8(), false), values);
  }
  for (const { field, values } of metadataColumns(rows)) add(field, values);
  if (dimensions !== null) {
    const field = vectorField(dimensions);
    fields.push(field);
    columns.vector = vectorColumn(rows, field.type as Arrow.FixedSizeList<Arrow.Float32>);
  }
  return new arrow.Table(new Schema(fields), columns);
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
  const row = { chunk_id: '', source_id: '', collection: '', type: 'memory', text: '' } as const;
  return columnsOf([{ ...row, vector: null, metadata: NO_METADATA }], null);
}
