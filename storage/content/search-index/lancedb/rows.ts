import type { Table } from '@lancedb/lancedb';
import type { Table as ArrowTable, RecordBatch } from 'apache-arrow';
import { LRUCache } from 'lru-cache';
import { lengthOf } from '../vectors.js';

/** Memory of what is kept, over all tables: some 50,000 vectors with 384 dimensions, and the ids of as many chunks. */
const KEPT_BYTES = { vectors: 48 << 20, chunkIds: 16 << 20 };
/** Memory of an entry beside its content: its key and its places in the maps. */
const BYTES_OF_AN_ENTRY = 200;
/** A component of a unit vector is stored as a multiple of its inverse: a cosine is wrong by less than 0.0001. */
const STEPS = 32_767;

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
  readChunkIds: RowRead<string>;
  /** Only of rows that have a vector. */
  readVectors: RowRead<PackedVector>;
}

/**
 * Reads rows by their ids. A search costs a fraction of reading the rows that it finds, because each value is a read of its own
 * from the file of its column. So what was read last is kept, for all tables of the process together.
 */
export function createRowReader(): RowReader {
  return {
    readChunkIds: keeping(KEPT_BYTES.chunkIds, () => 0, readChunkIds),
    readVectors: keeping(KEPT_BYTES.vectors, ({ length }) => length * Int16Array.BYTES_PER_ELEMENT, readVectors),
  };
}

type ReadTable<Value> = (table: Table, ids: readonly RowId[]) => Promise<(readonly [RowId, Value])[]>;

/** @returns a function that reads what it has not kept */
function keeping<Value extends object | string>(
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

async function readChunkIds(table: Table, ids: readonly RowId[]): Promise<(readonly [RowId, string])[]> {
  const batches = await take(table, ids, 'chunk_id');
  return batches.flatMap((batch) => {
    const chunkIds = batch.getChild('chunk_id')!.toArray() as string[];
    return rowIdsOf(batch).map((id, at) => [id, chunkIds[at]!] as const);
  });
}

async function readVectors(table: Table, ids: readonly RowId[]): Promise<(readonly [RowId, PackedVector])[]> {
  const batches = await take(table, ids, 'vector');
  return batches.flatMap((batch) => {
    const vectors = batch.getChild('vector')!;
    const numbers = vectors.data[0]!.children[0]!.values as Float32Array;
    const rowIds = rowIdsOf(batch);
    const length = numbers.length / rowIds.length;
    const block = new Int16Array(numbers.length);
    return rowIds.flatMap((id, row) => {
      if (!vectors.isValid(row)) return [];
      const start = row * length;
      const scale = STEPS / (lengthOf(numbers, start, start + length) || 1);
      for (let at = start; at < start + length; at += 1) block[at] = Math.round(numbers[at]! * scale);
      return [[id, { block, start, length }] as const];
    });
  });
}

async function take(table: Table, ids: readonly RowId[], column: string): Promise<RecordBatch[]> {
  const found = await table.takeRowIds(ids.map(BigInt)).select([column]).withRowId().toArrow();
  return found.batches.filter(({ numRows }) => numRows > 0);
}

export function rowIdsOf(found: RecordBatch | ArrowTable): RowId[] {
  return Array.from(found.getChild('_rowid')!.toArray() as BigUint64Array, String);
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
