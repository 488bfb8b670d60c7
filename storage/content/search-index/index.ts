import { type Connection, connect, Session, type Table } from '@lancedb/lancedb';
import type { IndexRow, SearchIndex } from '../../../domain/content/search.js';
import type { S3Location } from '../../../domain/s3-location.js';
import { type Change, createChangeQueue } from './changes.js';
import { isMissing, retryConflicts } from './conflicts.js';
import { predicatesOf } from './filters.js';
import { ensureTextIndex, optimizeTable } from './maintenance.js';
import { searchTable } from './query.js';
import { columnsOf, dimensionsDiffer, dimensionsIn, dimensionsOf, fieldsFor, firstRow } from './schema.js';

export interface LanceIndexOptions {
  /** A folder, or a place in a bucket. */
  at: string | S3Location;
  log?: { warn(details: object, message: string): void };
}

/** LanceDB's caches, in bytes; its own defaults are 6 GB and 1 GB. */
const INDEX_CACHE = 64n << 20n;
const METADATA_CACHE = 16n << 20n;
/** Tables held open. The least recently used is let go; memory comes back when nothing uses it any more. */
const OPEN_TABLES = 100;
/**
 * What may pile up before a table is compacted unasked. A query opens every fragment, one a commit, and reads every row
 * that is not indexed yet, about 30 a millisecond. Larger tables wait longer, because compacting rewrites them.
 */
const UNFOLDED = { commits: 100, rows: 1_000, shareOfCommits: 1 / 1_000, shareOfRows: 1 / 50 };

interface OpenTable {
  table: Table;
  changes: ReturnType<typeof createChangeQueue>;
  /** What this process has added since the last compaction. */
  commits: number;
  rows: number;
  compaction?: Promise<void> | undefined;
  /** The version a compaction left behind: unchanged since means nothing to do. */
  compacted?: number;
}

/**
 * Full text and vectors in LanceDB, one table a database. Any number of processes may read and write one folder: reads
 * see the newest version, appends commute, conflicting removals are tried again.
 */
export function createLanceIndex({ at, log }: LanceIndexOptions): SearchIndex {
  const opened = new Map<string, Promise<OpenTable>>();
  let connection: Promise<Connection> | undefined;

  function connected(): Promise<Connection> {
    connection ??= connect({
      ...placeOf(at),
      readConsistencyInterval: 0,
      session: new Session(INDEX_CACHE, METADATA_CACHE),
    });
    return connection;
  }

  function open(name: string): Promise<OpenTable> {
    const found = opened.get(name) ?? openTable(name);
    opened.delete(name);
    opened.set(name, found);
    if (opened.size > OPEN_TABLES) opened.delete(opened.keys().next().value!);
    found.catch(() => opened.delete(name));
    return found;
  }

  async function openTable(name: string): Promise<OpenTable> {
    const table = await (await connected()).openTable(name);
    const one: OpenTable = { table, commits: 0, rows: 0, changes: createChangeQueue((change) => commit(one, change)) };
    return one;
  }

  async function commit(one: OpenTable, { rows, remove }: Change): Promise<void> {
    // A removal would undo the compaction under way, again and again where many items are replaced.
    if (remove.length > 0) await one.compaction?.catch(() => undefined);
    for (const predicate of predicatesOf(remove)) await retryConflicts(() => one.table.delete(predicate));
    if (rows.length > 0) {
      const dimensions = await fitColumns(one.table, rows);
      await retryConflicts(() => one.table.add(columnsOf(rows, dimensions)));
    }
    one.commits += 1;
    one.rows += rows.length;
    if (!one.compaction && (one.commits >= UNFOLDED.commits || one.rows >= UNFOLDED.rows)) void compactWhenDue(one);
  }

  async function compactWhenDue(one: OpenTable): Promise<void> {
    try {
      const total = await one.table.countRows();
      const commits = UNFOLDED.commits + total * UNFOLDED.shareOfCommits;
      const rows = UNFOLDED.rows + total * UNFOLDED.shareOfRows;
      if (one.commits < commits && one.rows < rows) return;
      await compactOnce(one);
    } catch (error) {
      // Searching goes on without it, only slower; the next commits or the schedule try again.
      log?.warn({ table: one.table.name, reason: (error as Error).message }, 'search index not compacted');
    }
  }

  function compactOnce(one: OpenTable): Promise<void> {
    one.compaction ??= (async () => {
      const { commits, rows } = one;
      if ((await one.table.version()) === one.compacted) return;
      await optimizeTable(one.table);
      one.compacted = await one.table.version();
      one.commits -= commits;
      one.rows -= rows;
    })().finally(() => {
      one.compaction = undefined;
    });
    return one.compaction;
  }

  /** Another process may have dropped or compacted what this one still had open: a fresh look, once. */
  async function fresh<T>(name: string, read: (one: OpenTable) => Promise<T>): Promise<T> {
    try {
      return await read(await open(name));
    } catch (error) {
      if (!isMissing(error)) throw error;
      opened.delete(name);
      return read(await open(name));
    }
  }

  return {
    async create(name) {
      const one = await open(name).catch(async (error) => {
        if (!isMissing(error)) throw error;
        await (await connected()).createTable(name, firstRow(), { mode: 'create', existOk: true });
        return open(name);
      });
      await ensureTextIndex(one.table);
    },
    async clear(name) {
      // A new version and not a new table: processes that have it open go on without noticing.
      await retryConflicts(async () => {
        await (await connected()).createTable(name, firstRow(), { mode: 'overwrite' });
      });
      await ensureTextIndex((await open(name)).table);
    },
    async exists(name) {
      return fresh(name, ({ table }) => table.version()).then(
        () => true,
        (error) => (isMissing(error) ? false : Promise.reject(error)),
      );
    },
    async write(name, rows: readonly IndexRow[], remove: readonly string[] = []) {
      if (rows.length === 0 && remove.length === 0) return;
      dimensionsIn(rows);
      await (await open(name)).changes.push({ rows, remove });
    },
    search: (name, request) => fresh(name, ({ table }) => searchTable(table, request)),
    compact: (name) =>
      fresh(name, async (one) => {
        // One under way may have begun before the latest rows came.
        await one.compaction?.catch(() => undefined);
        await compactOnce(one);
      }),
    async drop(name) {
      opened.delete(name);
      await (await connected())
        .dropTable(name)
        .catch((error) => (isMissing(error) ? undefined : Promise.reject(error)));
    },
    async close() {
      for (const one of await Promise.allSettled(opened.values())) {
        if (one.status === 'rejected') continue;
        await one.value.changes.idle();
        await one.value.compaction?.catch(() => undefined);
        one.value.table.close();
      }
      opened.clear();
      (await connection)?.close();
      connection = undefined;
    },
  };
}

function placeOf(at: string | S3Location): { uri: string; storageOptions: Record<string, string> } {
  if (typeof at === 'string') return { uri: at, storageOptions: {} };
  const { bucket, prefix, endpoint, region } = at;
  const storageOptions = {
    ...(region && { awsRegion: region }),
    ...(endpoint && { awsEndpoint: endpoint, allowHttp: String(endpoint.startsWith('http:')) }),
  };
  return { uri: `s3://${bucket}/${prefix}`, storageOptions };
}

/**
 * Gives the table the columns that rows need and it lacks: for vectors with the first of them, for metadata with the first
 * row that has a field. @returns the dimensions of its vectors
 */
async function fitColumns(table: Table, rows: readonly IndexRow[]): Promise<number | null> {
  const dimensions = dimensionsIn(rows);
  return retryConflicts(async () => {
    const schema = await table.schema();
    const has = dimensionsOf(schema);
    if (has !== null && dimensions !== null && has !== dimensions) throw dimensionsDiffer(has, dimensions);
    const lacks = async () => {
      const present = new Set((await table.schema()).fields.map(({ name }) => name));
      return fieldsFor(rows, has === null ? dimensions : null).filter(({ name }) => !present.has(name));
    };
    const missing = await lacks();
    if (missing.length === 0) return has ?? dimensions;
    // Earlier rows stay as they are: the columns are null for them. Another process may be faster by a moment.
    await table.addColumns(missing).catch(async (error) => {
      if ((await lacks()).length > 0) throw error;
    });
    return has ?? dimensions;
  });
}
