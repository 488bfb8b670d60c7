import { Index, type Table } from '@lancedb/lancedb';
import { retryConflicts } from './conflicts.js';
import { dimensionsOf, textIndex } from './schema.js';

/**
 * From how many rows on metadata and vectors are indexed. Below, vectors are compared one by one: exact, and no index to
 * keep. RabitQ is trained in a second where product quantisation takes minutes, and the best candidates are compared
 * exactly anyway.
 */
const INDEX_FROM = 10_000;
/** How long another process may still read a version after it was replaced; queries last less than a second. */
const KEEP_VERSIONS_MS = 60_000;

/** Makes sure that a new table has its full-text index, whoever created it. */
export async function ensureTextIndex(table: Table): Promise<void> {
  await ensureIndex(table, 'text', textIndex());
}

/** Folds small fragments together and new rows into the indexes, indexes a grown table, drops old versions. */
export async function optimizeTable(table: Table): Promise<void> {
  await retryConflicts(() => table.optimize({ cleanupOlderThan: new Date(Date.now() - KEEP_VERSIONS_MS) }));
  if ((await table.countRows()) < INDEX_FROM) return;
  const schema = await table.schema();
  if (schema.fields.some(({ name }) => name === 'tags')) await ensureIndex(table, 'tags', Index.labelList());
  await ensureIndex(table, 'collection', Index.bitmap());
  const dimensions = dimensionsOf(schema);
  if (dimensions === null || (await hasIndexOn(table, 'vector'))) return;
  if ((await table.countRows('vector IS NOT NULL')) < INDEX_FROM) return;
  // RabitQ packs a bit a dimension into whole bytes; few models have a number of dimensions it cannot take.
  const kind = dimensions % 8 === 0 ? Index.ivfRq : Index.ivfFlat;
  await ensureIndex(table, 'vector', kind({ distanceType: 'cosine' }));
}

async function ensureIndex(table: Table, column: string, config: Index): Promise<void> {
  await retryConflicts(async () => {
    if (!(await hasIndexOn(table, column))) await table.createIndex(column, { config, replace: false });
  });
}

async function hasIndexOn(table: Table, column: string): Promise<boolean> {
  return (await table.listIndices()).some(({ columns }) => columns.includes(column));
}
