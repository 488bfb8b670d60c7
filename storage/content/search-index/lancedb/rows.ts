import type { Table } from '@lancedb/lancedb';
import type { RecordBatch } from 'apache-arrow';
import { LRUCache } from 'lru-cache';
import type { SourceName } from '../../../../domain/content/search.js';
import { unitVector } from '../vectors.js';

/** Memory of what is kept, over all tables: some 50,000 vectors with 384 dimensions, and the names of as many rows. */
const KEPT_BYTES = { vectors: 48 << 20, names: 16 << 20 };
/** Memory of an entry beside its content: its key and its places in the maps. */
const BYTES_OF_AN_ENTRY = 200;
/** A component of a unit vector is stored as a multiple of its inverse: a cosine is wrong by less than 0.0001. */
const STEPS = 32_767;

/** What a hit shows of its row. */
export interface RowNames extends SourceName {
  chunk_id: string;
}

/** A unit vector in two bytes per component, in a block of vectors that were read together: many small buffers cost more. */
export interface PackedVector {
  block: Int16Array;
  start: number;
  length: number;
}

/** A row id of LanceDB in digits: the address of the row. What is stored at an address never changes. */
export type RowId = string;

export interface RowsOfTable {
  table: Table;
  /** Differs after the table was overwritten, which gives out the same row ids again; null when that cannot be known. */
  epoch: string;
}

/** Reads something of rows. @returns it in the order of the ids; undefined for a row that the table does not have any more */
export type RowRead<Value> = (rows: RowsOfTable, ids: readonly RowId[]) => Promise<(Value | undefined)[]>;

export interface RowReader {
  readNames: RowRead<RowNames>;
  /** Only of rows that have a vector. */
  readVectors: RowRead<PackedVector>;
}

/**
 * Reads rows by their ids. A search costs a fraction of reading the rows that it finds, because each value is a read of its own
 * from the file of its column. So what was read last is kept, for all tables of the process together.
 */
export function createRowReader(): RowReader {
  return {
    readNames: keeping(KEPT_BYTES.names, () => 0, readNames),
    readVectors: keeping(KEPT_BYTES.vectors, ({ length }) => length * Int16Array.BYTES_PER_ELEMENT, readVectors),
  };
}

type ReadTable<Value> = (table: Table, ids: readonly RowId[]) => Promise<(readonly [RowId, Value])[]>;

/** @returns a function that reads what it has not kept */
function keeping<Value extends object>(
  maxSize: number,
  bytesOf: (value: Value) => number,
  readTable: ReadTable<Value>,
): RowRead<Value> {
  const kept = new LRUCache<string, Value>({
    maxSize,
    sizeCalculation: (value) => BYTES_OF_AN_ENTRY + bytesOf(value),
  });
  /** Short names of the epochs, for the keys. */
  const epochs = new Map<string, number>();
  const numberOf = (epoch: string) => {
    const number = epochs.get(epoch) ?? epochs.size;
    epochs.set(epoch, number);
    return number;
  };
  return async ({ table, epoch }, ids) => {
    const prefix = `${numberOf(epoch)}/`;
    const found = ids.map((id) => kept.get(prefix + id));
    const missing = ids.filter((_, at) => !found[at]);
    if (missing.length === 0) return found;
    const read = new Map(await readTable(table, missing));
    for (const [id, value] of read) kept.set(prefix + id, value);
    return found.map((value, at) => value ?? read.get(ids[at]!));
  };
}

async function readNames(table: Table, ids: readonly RowId[]): Promise<(readonly [RowId, RowNames])[]> {
  const batches = await take(table, ids, ['chunk_id', 'source_id', 'collection']);
  return batches.flatMap((batch) => {
    // Column by column, because Arrow's row objects look up the type of each value.
    const column = (name: string) => batch.getChild(name)!.toArray() as string[];
    const [chunkIds, sourceIds, collections] = [column('chunk_id'), column('source_id'), column('collection')];
    return rowIdsOf(batch).map((id, at) => {
      return [id, { chunk_id: chunkIds[at]!, source_id: sourceIds[at]!, collection: collections[at]! }] as const;
    });
  });
}

async function readVectors(table: Table, ids: readonly RowId[]): Promise<(readonly [RowId, PackedVector])[]> {
  const batches = await take(table, ids, ['vector']);
  return batches.flatMap((batch) => {
    const vectors = batch.getChild('vector')!;
    const numbers = vectors.data[0]!.children[0]!.values as Float32Array;
    const rowIds = rowIdsOf(batch);
    const length = numbers.length / rowIds.length;
    const block = new Int16Array(numbers.length);
    return rowIds.flatMap((id, row) => {
      if (!vectors.isValid(row)) return [];
      const start = row * length;
      const unit = unitVector(numbers.subarray(start, start + length));
      for (let at = 0; at < length; at += 1) block[start + at] = Math.round(unit[at]! * STEPS);
      return [[id, { block, start, length }] as const];
    });
  });
}

async function take(table: Table, ids: readonly RowId[], columns: string[]): Promise<RecordBatch[]> {
  const found = await table.takeRowIds(ids.map(BigInt)).select(columns).withRowId().toArrow();
  return found.batches.filter(({ numRows }) => numRows > 0);
}

function rowIdsOf(batch: RecordBatch): RowId[] {
  return Array.from(batch.getChild('_rowid')!.toArray() as BigUint64Array, String);
}

/** @returns the vector of a length that does not matter to a cosine */
export function vectorOf({ block, start, length }: PackedVector): Int16Array {
  return block.subarray(start, start + length);
}

/** @param unit a vector of length 1 */
export function cosineWith(unit: Float32Array, { block, start, length }: PackedVector): number {
  let dot = 0;
  for (let at = 0; at < length; at += 1) dot += unit[at]! * block[start + at]!;
  return dot / STEPS;
}
