import { Index, type Table } from '@lancedb/lancedb';
import { isPresent, retryConflicts } from './conflicts.js';
import { dimensionsOf, textIndex } from './schema.js';

/**
 * Number of rows from which metadata and vectors are indexed. In smaller tables, every vector is compared, which is exact
 * and needs no index. RabitQ is trained in a second, product quantisation in minutes; the best candidates are compared
 * exactly with either.
 */
const MIN_INDEXED_ROWS = 10_000;
/** How long another process may still read a replaced version. Queries take less than a second. */
const KEEP_VERSIONS_MS = 60_000;

/** Creates the full-text index of a table if it is missing. */
export async function ensureTextIndex(table: Table): Promise<void> {
  await ensureIndex(table, 'text', textIndex);
}

/**
 * Merges small fragments, adds new rows to the indexes, creates the indexes of a large table, and drops old versions.
 * @param onConflict runs when another writer's removal has made the work fail, before it is repeated
 */
export async function optimizeTable(table: Table, onConflict?: () => Promise<void>): Promise<void> {
  const optimize = () => table.optimize({ cleanupOlderThan: new Date(Date.now() - KEEP_VERSIONS_MS) });
  await retryConflicts(optimize, onConflict);
  if ((await table.countRows()) < MIN_INDEXED_ROWS) return;
  const schema = await table.schema();
  await ensureIndex(table, 'tags', Index.labelList);
  await ensureIndex(table, 'collection', Index.bitmap);
  const dimensions = dimensionsOf(schema);
  if (dimensions === null || (await hasIndexOn(table, 'vector'))) return;
  if ((await table.countRows('vector IS NOT NULL')) < MIN_INDEXED_ROWS) return;
  // RabitQ packs one bit per dimension into whole bytes, so it needs a multiple of 8; most models have one.
  const kind = dimensions % 8 === 0 ? Index.ivfRq : Index.ivfFlat;
  await ensureIndex(table, 'vector', () => kind({ distanceType: 'cosine' }));
}

/** @returns whether a search compares rows that one of the indexes lacks */
export async function hasUnindexedRows(table: Table): Promise<boolean> {
  return (await table.listIndices()).some(({ numUnindexedRows }) => numUnindexedRows !== 0);
}

/** @param config makes the description of the index, which LanceDB takes once only: another attempt needs another. */
async function ensureIndex(table: Table, column: string, config: () => Index): Promise<void> {
  await retryConflicts(async () => {
    if (await hasIndexOn(table, column)) return;
    await table.createIndex(column, { config: config(), replace: false }).catch((error) => {
      // Another process has made it since.
      if (!isPresent(error)) throw error;
    });
  });
}

async function hasIndexOn(table: Table, column: string): Promise<boolean> {
  return (await table.listIndices()).some(({ columns }) => columns.includes(column));
}
