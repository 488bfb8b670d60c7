import type { Table } from '@lancedb/lancedb';
import type { Table as ArrowTable, RecordBatch } from 'apache-arrow';
import { LRUCache } from 'lru-cache';
import { vectorLength } from '../../../../domain/content/vector-length.js';

/** Memory of what is kept, over all tables: some 55,000 rows with 384 dimensions. */
const KEPT_BYTES = 64 << 20;
/** Memory of a row beside its vector: its ids and its places in the maps. */
const BYTES_OF_A_ROW = 440;
/** A component of a unit vector is stored as a multiple of its inverse: a cosine is wrong by less than 0.0001. */
const STEPS = 32_767;

/** What a search needs of a row that it has found. */
export interface Row {
  chunk_id: string;
  /**
   * A unit vector in two bytes per component, as a part of a buffer of those that were read together: many small buffers cost
   * more. Null without an embedding model.
   */
  vector: Int16Array | null;
}

/** A row id of LanceDB in digits: the address of the row. What is stored at an address never changes. */
export type RowId = string;

export interface RowsOfTable {
  table: Table;
  /** Dimensions of the vectors; null when the table has none. */
  dimensions: number | null;
  /** Differs after the table was overwritten, which gives out the same row ids again. */
  epoch: string;
}

/** Reads rows. @returns them in the order of the ids; undefined for a row that the table does not have any more */
export type RowReader = (rows: RowsOfTable, ids: readonly RowId[]) => Promise<(Row | undefined)[]>;

/**
 * Reads rows by their ids. A search costs a fraction of reading the rows that it finds, because each value is a read of its own
 * from the file of its column. So what was read last is kept, for all tables of the process together.
 */
export function createRowReader(): RowReader {
  const kept = new LRUCache<string, Row>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ vector }) => BYTES_OF_A_ROW + (vector?.length ?? 0) * Int16Array.BYTES_PER_ELEMENT,
  });
  return async (rows, ids) => {
    const prefix = `${rows.epoch}/`;
    const found = ids.map((id) => kept.get(prefix + id));
    const missing = ids.filter((_, at) => !found[at]);
    if (missing.length === 0) return found;
    const read = new Map(await readRows(rows, missing));
    for (const [id, row] of read) kept.set(prefix + id, row);
    return found.map((row, at) => row ?? read.get(ids[at]!));
  };
}

async function readRows({ table, dimensions }: RowsOfTable, ids: readonly RowId[]): Promise<(readonly [RowId, Row])[]> {
  const columns = dimensions === null ? ['chunk_id'] : ['chunk_id', 'vector'];
  const found = await table.takeRowIds(ids.map(BigInt)).select(columns).withRowId().toArrow();
  return found.batches
    .filter(({ numRows }) => numRows > 0)
    .flatMap((batch) => {
      const chunkIds = batch.getChild('chunk_id')!.toArray() as string[];
      const vectors = packedVectors(batch);
      return rowIdsOf(batch).map((id, at) => [id, { chunk_id: chunkIds[at]!, vector: vectors[at] ?? null }] as const);
    });
}

/** @returns the vectors of the rows; none when the batch lacks the column */
function packedVectors(batch: RecordBatch): (Int16Array | null)[] {
  const vectors = batch.getChild('vector');
  if (!vectors) return [];
  const numbers = vectors.data[0]!.children[0]!.values as Float32Array;
  const length = numbers.length / batch.numRows;
  const block = new Int16Array(numbers.length);
  return Array.from({ length: batch.numRows }, (_, row) => {
    if (!vectors.isValid(row)) return null;
    const vector = numbers.subarray(row * length, (row + 1) * length);
    const packed = block.subarray(row * length, (row + 1) * length);
    const scale = STEPS / (vectorLength(vector) || 1);
    for (const [at, component] of vector.entries()) packed[at] = Math.round(component * scale);
    return packed;
  });
}

export function rowIdsOf(found: RecordBatch | ArrowTable): RowId[] {
  return Array.from(found.getChild('_rowid')!.toArray() as BigUint64Array, String);
}

/** @param unit a vector of length 1 */
export function cosineWith(unit: Float32Array, packed: Int16Array): number {
  let dot = 0;
  for (let at = 0; at < packed.length; at += 1) dot += unit[at]! * packed[at]!;
  return dot / STEPS;
}
