import { Index, type Table } from '@lancedb/lancedb';
import { retryConflicts } from './conflicts.js';
import { dimensionsOf, textIndex } from './schema.js';

/**
 * Vectors of smaller tables are compared one by one: exact, and no index to keep. RabitQ is trained in a second where
 * product quantisation takes minutes, and the best candidates are compared exactly anyway.
 */
const VECTOR_INDEX_FROM = 10_000;
/** How long another process may still read a version after it was replaced; queries last less than a second. */
const KEEP_VERSIONS_MS = 60_000;

/** Makes sure that a new table has its full-text index, whoever created it. */
export async function ensureTextIndex(table: Table): Promise<void> {
  await retryConflicts(async () => {
    if (await hasIndexOn(table, 'text')) return;
    await table.createIndex('text', { config: textIndex(), replace: false });
  });
}

/** Folds small fragments together and new rows into the indexes, indexes vectors of a grown table, drops old versions. */
export async function optimizeTable(table: Table): Promise<void> {
  await retryConflicts(() => table.optimize({ cleanupOlderThan: new Date(Date.now() - KEEP_VERSIONS_MS) }));
  const dimensions = dimensionsOf(await table.schema());
  if (dimensions === null || (await hasIndexOn(table, 'vector'))) return;
  if ((await table.countRows('vector IS NOT NULL')) < VECTOR_INDEX_FROM) return;
  // RabitQ packs a bit a dimension into whole bytes; few models have a number of dimensions it cannot take.
  const kind = dimensions % 8 === 0 ? Index.ivfRq : Index.ivfFlat;
  await retryConflicts(() => table.createIndex('vector', { config: kind({ distanceType: 'cosine' }) }));
}

async function hasIndexOn(table: Table, column: string): Promise<boolean> {
  return (await table.listIndices()).some(({ columns }) => columns.includes(column));
}
