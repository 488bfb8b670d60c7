import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { Index } from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';
import { NO_METADATA } from '../../../../domain/content/indexed-metadata.js';
import { DEFAULT_LANGUAGE } from '../../../../domain/content/languages.js';
import type { IndexRow } from '../../../../domain/content/search.js';
import { languageColumn, rangeColumn } from '../columns.js';

// Loaded with require, as LanceDB does, because LanceDB accepts only objects of that copy's classes.
const arrow: typeof Arrow = createRequire(import.meta.url)('apache-arrow');
const { Bool, DataType, Field, FixedSizeList, Float32, Float64, List, Schema, Utf8 } = arrow;

/**
 * The index of terms, which are divided by spaces and compared as they are: `analysis.ts` makes them. It has no positions:
 * phrases are checked in the text itself, which also finds rows that are not indexed yet.
 */
export const textIndex = () =>
  Index.fts({
    baseTokenizer: 'whitespace',
    maxTokenLength: 1_000,
    lowercase: false,
    stem: false,
    removeStopWords: false,
    asciiFolding: false,
    withPosition: false,
  });

const TEXT_COLUMNS = ['chunk_id', 'source_id', 'collection', 'type', 'text'] as const;

/** Tags answer equality, lists and existence. */
const tagsField = () => new Field('tags', new List(new Field('item', new Utf8(), true)), true);

/** @returns the metadata columns that these rows need, with the value of each row */
function metadataColumns(rows: readonly IndexRow[]) {
  const tags = { field: tagsField(), values: rows.map(({ metadata }): unknown => metadata.tags) };
  const ranges = (kind: 'number' | 'text', of: (row: IndexRow) => ReadonlyMap<string, unknown>) =>
    [...new Set(rows.flatMap((row) => [...of(row).keys()]))].map((name) => ({
      field: new Field(rangeColumn(kind, name), kind === 'number' ? new Float64() : new Utf8(), true),
      values: rows.map((row) => of(row).get(name) ?? null),
    }));
  return [tags, ...ranges('number', (row) => row.metadata.numbers), ...ranges('text', (row) => row.metadata.texts)];
}

/** @returns a column for each language of these rows, which is true in the rows that have it */
function languageColumns(rows: readonly IndexRow[]) {
  const languages = new Set(rows.map(({ language }) => language ?? DEFAULT_LANGUAGE));
  languages.delete(DEFAULT_LANGUAGE);
  return [...languages].map((name) => ({
    field: new Field(languageColumn(name), new Bool(), true),
    values: rows.map(({ language }) => (language === name ? true : null)),
  }));
}

/** @returns the columns that rows need in addition to those of every table. @param dimensions null without vectors */
export function fieldsFor(rows: readonly IndexRow[], dimensions: number | null): Arrow.Field[] {
  const fields: Arrow.Field[] = [...metadataColumns(rows), ...languageColumns(rows)].map(({ field }) => field);
  return dimensions === null ? fields : [...fields, vectorField(dimensions)];
}

const vectorField = (dimensions: number) =>
  new Field('vector', new FixedSizeList(dimensions, new Field('item', new Float32(), true)), true);

/** @returns the dimensions of a table's vectors, or null when it has none yet */
export function dimensionsOf(schema: Arrow.Schema): number | null {
  const field = schema.fields.find(({ name }) => name === 'vector');
  return field ? (field.type as Arrow.FixedSizeList).listSize : null;
}

/**
 * Converts rows to columns, which LanceDB accepts without copying each number through an object. Columns for which no row
 * has a value are left out; LanceDB stores null.
 * @param rows with analysed texts
 * @param dimensions of the table's vectors; null leaves the vector column out
 */
export function columnsOf(rows: readonly IndexRow[], dimensions: number | null): Arrow.Table {
  const fields: Arrow.Field[] = [];
  const columns: Record<string, Arrow.Vector> = {};
  const add = (field: Arrow.Field, values: readonly unknown[]) => {
    fields.push(field);
    columns[field.name] = arrow.vectorFromArray<Arrow.DataType>(values, field.type);
  };
  for (const name of TEXT_COLUMNS) {
    const values = rows.map((row) => row[name]);
    add(new Field(name, new Utf8(), false), values);
  }
  for (const { field, values } of [...metadataColumns(rows), ...languageColumns(rows)]) add(field, values);
  if (dimensions !== null) {
    const field = vectorField(dimensions);
    fields.push(field);
    columns.vector = vectorColumn(rows, field.type as Arrow.FixedSizeList<Arrow.Float32>);
  }
  return new arrow.Table(new Schema(fields), columns);
}

/** @returns the columns, and empty ones that only the table has: a row that is replaced must not keep its values there */
export function withEmptyColumns(columns: Arrow.Table, { fields }: Arrow.Schema): Arrow.Table {
  const present = new Set(columns.schema.fields.map(({ name }) => name));
  const missing = fields.filter(({ name }) => !present.has(name));
  const all: Record<string, Arrow.Vector> = {};
  for (const { name } of columns.schema.fields) all[name] = columns.getChild(name)!;
  for (const { name, type } of missing) {
    // Arrow for JavaScript leaves out the bytes of booleans that are all null, and LanceDB needs them.
    const values = new Array(columns.numRows).fill(DataType.isBool(type) ? false : null);
    all[name] = arrow.vectorFromArray<Arrow.DataType>(values, type);
  }
  return new arrow.Table(new Schema([...columns.schema.fields, ...missing]), all);
}

function vectorColumn(rows: readonly IndexRow[], type: Arrow.FixedSizeList<Arrow.Float32>): Arrow.Vector {
  const numbers = new Float32Array(rows.length * type.listSize);
  // One bit per row, least significant bit first; set when the row has a vector.
  const validity = new Uint8Array(Math.ceil(rows.length / 8));
  let nulls = 0;
  for (const [index, { vector }] of rows.entries()) {
    if (!vector) {
      nulls += 1;
      continue;
    }
    numbers.set(vector, index * type.listSize);
    validity[index >> 3]! |= 1 << (index & 7);
  }
  const child = arrow.makeData({ type: new Float32(), data: numbers });
  return arrow.makeVector(arrow.makeData({ type, length: rows.length, nullCount: nulls, nullBitmap: validity, child }));
}

/** Name of the table's epoch in the metadata of its schema. */
const EPOCH = 'postback.epoch';

/** @returns an id that every table gets when it is created or overwritten */
export function epochOf(schema: Arrow.Schema): string {
  return schema.metadata.get(EPOCH)!;
}

/**
 * The first row of every table, in no collection and found by no query. With an empty full-text index, LanceDB does not
 * sort hits among rows that are not indexed yet (seen in version 0.37); with one row it does.
 */
export function firstRow(): Arrow.Table {
  const row = { chunk_id: '', source_id: '', collection: '', type: 'memory', text: '' } as const;
  const { schema, batches } = columnsOf([{ ...row, vector: null, metadata: NO_METADATA }], null);
  return new arrow.Table(new Schema(schema.fields, new Map([[EPOCH, randomUUID()]])), batches);
}
