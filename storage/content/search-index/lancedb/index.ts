import { setTimeout as wait } from 'node:timers/promises';
import { type Connection, connect, Session, type Table } from '@lancedb/lancedb';
import { LRUCache } from 'lru-cache';
import type { IndexRow, SearchIndex } from '../../../../domain/content/search.js';
import type { S3Location } from '../../../../domain/s3-location.js';
import { createSharedReads } from '../../../../domain/shared-calls.js';
import type { CompactionLeases } from '../../compaction-leases.js';
import { createTextAnalysis } from '../analysis.js';
import { type Change, createChangeQueue } from '../changes.js';
import { dimensionsIn } from '../vectors.js';
import { isMissing, retryConflicts } from './conflicts.js';
import { predicatesOf } from './filters.js';
import { ensureTextIndex, hasUnindexedRows, optimizeTable } from './maintenance.js';
import { searchTable, warmTable } from './query.js';
import { createRowReader } from './rows.js';
import { columnsOf, dimensionsOf, fieldsFor, firstRow, withEmptyColumns } from './schema.js';

export interface LanceIndexOptions {
  /** A folder, or a location in a bucket. */
  location: string | S3Location;
  /** By which the processes that share the location agree who compacts a table. Absent: no other process does. */
  leases?: CompactionLeases;
  log?: { warn(details: object, message: string): void };
}

/** LanceDB's caches, in bytes; its own defaults are 6 GB and 1 GB. */
const INDEX_CACHE = 64n << 20n;
const METADATA_CACHE = 16n << 20n;
/** Maximum number of open tables. The least recently used is dropped, and freed when nothing uses it any more. */
const OPEN_TABLES = 100;
/**
 * Changes after which a table is compacted between the scheduled compactions. A query opens every fragment, one for each
 * commit, and reads every row that is not indexed yet, about 30 per millisecond. Larger tables wait longer, because
 * compacting rewrites them.
 */
const COMPACT_AFTER = { commits: 100, rows: 1_000, shareOfCommits: 1 / 1_000, shareOfRows: 1 / 50 };

/** Pause before a process looks again whether another one has compacted a table. */
const OWNER_POLL_MS = 250;

interface OpenTable {
  /** Each of its calls looks for a newer version, which takes a fraction of a millisecond. */
  table: Table;
  /** The same for searches, which make several calls: it looks for a newer version only before each search. */
  searched: Table;
  newest(): Promise<Table>;
  /** Commits of this process since the last compaction that it made or left to another process. */
  commits: number;
  /** The same for rows that it has added. */
  rows: number;
  compaction?: Promise<boolean> | undefined;
  /** A version whose rows are all in the indexes; while it is current, there is nothing to compact. */
  compacted?: number | undefined;
}

/**
 * The search index in LanceDB: full text and vectors, one table per database. Any number of processes may read and write
 * one location: reads see the newest version, appends do not conflict, and removals that conflict are repeated.
 */
export function createLanceIndex({ location, leases, log }: LanceIndexOptions): SearchIndex {
  const analysis = createTextAnalysis();
  const readRows = createRowReader();
  const changes = createChangeQueue(commit);
  const tables = new LRUCache<string, Promise<OpenTable>>({ max: OPEN_TABLES });
  let connections: Promise<{ following: Connection; pausing: Connection }> | undefined;

  /** Connections whose tables look for a newer version at each call, or only when asked to. They share the caches. */
  function connected() {
    connections ??= (async () => {
      const options = { ...connectionOptions(location), session: new Session(INDEX_CACHE, METADATA_CACHE) };
      return { following: await connect({ ...options, readConsistencyInterval: 0 }), pausing: await connect(options) };
    })();
    return connections;
  }

  function open(name: string): Promise<OpenTable> {
    const known = tables.get(name);
    if (known) return known;
    const opening = openTable(name);
    tables.set(name, opening);
    opening.catch(() => tables.delete(name));
    return opening;
  }

  async function openTable(name: string): Promise<OpenTable> {
    const { following, pausing } = await connected();
    const [table, searched] = await Promise.all([following.openTable(name), pausing.openTable(name)]);
    const newest = createSharedReads<void, Table>(
      () => name,
      async () => {
        await searched.checkoutLatest();
        return searched;
      },
    );
    return { table, searched, newest, commits: 0, rows: 0 };
  }

  async function commit(name: string, change: Change): Promise<void> {
    const opened = await open(name);
    const { rows, remove } = await analysis.analyseChange(change);
    // A removal conflicts with a running compaction, which would be repeated again and again while items are replaced.
    if (remove.length > 0) {
      await opened.compaction?.catch(() => undefined);
      await leases?.whenShared(opened.table.name);
    }
    const dimensions = rows.length > 0 ? await fitColumns(opened.table, rows) : null;
    const removed = new Set(remove);
    const replacing = new Map(rows.flatMap((row) => (removed.has(row.chunk_id) ? [[row.chunk_id, row] as const] : [])));
    // In one commit, because a search between a removal and an addition would miss rows that are served.
    const replaced = await replaceRows(opened.table, [...replacing.values()], dimensions);
    const isReplaced = (id: string) => replaced && replacing.has(id);
    for (const predicate of predicatesOf(remove.filter((id) => !isReplaced(id))))
      await retryConflicts(() => opened.table.delete(predicate));
    const added = rows.filter(({ chunk_id }) => !isReplaced(chunk_id));
    if (added.length > 0) await retryConflicts(() => opened.table.add(columnsOf(added, dimensions)));
    opened.commits += 1;
    opened.rows += rows.length;
    if (!opened.compaction && (opened.commits >= COMPACT_AFTER.commits || opened.rows >= COMPACT_AFTER.rows))
      void compactWhenDue(opened);
  }

  async function compactWhenDue(opened: OpenTable): Promise<void> {
    try {
      const total = await opened.table.countRows();
      const commits = COMPACT_AFTER.commits + total * COMPACT_AFTER.shareOfCommits;
      const rows = COMPACT_AFTER.rows + total * COMPACT_AFTER.shareOfRows;
      if (opened.commits < commits && opened.rows < rows) return;
      await compactOnce(opened);
    } catch (error) {
      // Searches are only slower without it. Later commits or the schedule compact the table.
      log?.warn({ table: opened.table.name, reason: (error as Error).message }, 'search index not compacted');
    }
  }

  /** Joins a running compaction of this process. @returns false when another process compacts the table at the moment */
  function compactOnce(opened: OpenTable): Promise<boolean> {
    opened.compaction ??= (async () => {
      const { commits, rows, table } = opened;
      if ((await table.version()) === opened.compacted) return true;
      const optimize = (onConflict?: () => Promise<void>) => optimizeTable(table, onConflict);
      const isOwner = leases ? await leases.own(table.name, optimize) : await optimize().then(() => true);
      if (isOwner) {
        const latest = await table.version();
        // Rows that were added meanwhile may be in this version, but not in its indexes.
        opened.compacted = (await hasUnindexedRows(table)) ? undefined : latest;
      }
      opened.commits -= commits;
      opened.rows -= rows;
      return isOwner;
    })().finally(() => {
      opened.compaction = undefined;
    });
    return opened.compaction;
  }

  /** Reads a table. When another process has dropped or compacted it, opens it again and repeats the read once. */
  async function readTable<T>(name: string, read: (opened: OpenTable) => Promise<T>): Promise<T> {
    try {
      return await read(await open(name));
    } catch (error) {
      if (!isMissing(error)) throw error;
      tables.delete(name);
      return read(await open(name));
    }
  }

  return {
    async create(name) {
      const { table } = await open(name).catch(async (error) => {
        if (!isMissing(error)) throw error;
        const creation = (await connected()).following.createTable(name, firstRow(), { mode: 'create' });
        const failure = await creation.then(
          () => null,
          (reason) => reason,
        );
        // Another process may have created the table meanwhile.
        return open(name).catch((reason) => Promise.reject(failure ?? reason));
      });
      await ensureTextIndex(table);
    },
    async clear(name) {
      // A new version, not a new table, so that other processes can go on using the open table.
      await retryConflicts(async () => {
        await (await connected()).following.createTable(name, firstRow(), { mode: 'overwrite' });
      });
      await ensureTextIndex((await open(name)).table);
    },
    async exists(name) {
      return readTable(name, ({ table }) => table.version()).then(
        () => true,
        (error) => (isMissing(error) ? false : Promise.reject(error)),
      );
    },
    write: (name, rows, remove = []) => changes.push(name, { rows, remove }),
    search: (name, request) =>
      readTable(name, async ({ newest }) => searchTable({ table: await newest(), analysis, readRows }, request)),
    warm: (name) => readTable(name, async ({ newest }) => warmTable({ table: await newest(), analysis, readRows })),
    compact: (name) =>
      readTable(name, async (opened) => {
        // A running compaction, here or in another process, may have started before the latest rows were added.
        await opened.compaction?.catch(() => undefined);
        while (!(await compactOnce(opened))) await wait(OWNER_POLL_MS);
      }),
    async drop(name) {
      tables.delete(name);
      const { following } = await connected();
      await following.dropTable(name).catch((error) => (isMissing(error) ? undefined : Promise.reject(error)));
    },
    async close() {
      await changes.idle();
      for (const opening of await Promise.allSettled(tables.values())) {
        if (opening.status === 'rejected') continue;
        const opened = opening.value;
        await opened.compaction?.catch(() => undefined);
        opened.table.close();
        opened.searched.close();
      }
      tables.clear();
      const { following, pausing } = (await connections) ?? {};
      following?.close();
      pausing?.close();
      connections = undefined;
    },
  };
}

function connectionOptions(location: string | S3Location): { uri: string; storageOptions: Record<string, string> } {
  if (typeof location === 'string') return { uri: location, storageOptions: {} };
  const { bucket, prefix, endpoint, region } = location;
  const storageOptions = {
    ...(region && { awsRegion: region }),
    ...(endpoint && { awsEndpoint: endpoint, allowHttp: String(endpoint.startsWith('http:')) }),
  };
  return { uri: `s3://${bucket}/${prefix}`, storageOptions };
}

/**
 * Replaces the rows with these chunk ids, and adds those that the table lacks.
 * @param rows each with an id of its own
 * @returns false when the table had one of them twice, as two runs of one write leave them: it is still there twice
 */
async function replaceRows(table: Table, rows: readonly IndexRow[], dimensions: number | null): Promise<boolean> {
  if (rows.length === 0) return true;
  const written = await retryConflicts(async () => {
    const schema = await table.schema();
    // Another process may have added the vector column meanwhile.
    const columns = withEmptyColumns(columnsOf(rows, dimensionsOf(schema) ?? dimensions), schema);
    return table.mergeInsert('chunk_id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(columns);
  });
  return written.numUpdatedRows + written.numInsertedRows === rows.length;
}

/**
 * Adds the columns that these rows need and the table lacks: the vector column, and columns of metadata fields.
 * @returns the dimensions of the table's vectors, or null when it has none
 */
async function fitColumns(table: Table, rows: readonly IndexRow[]): Promise<number | null> {
  return retryConflicts(async () => {
    const dimensions = dimensionsIn(rows, dimensionsOf(await table.schema()));
    const listMissing = async () => {
      const present = new Set((await table.schema()).fields.map(({ name }) => name));
      return fieldsFor(rows, dimensions).filter(({ name }) => !present.has(name));
    };
    const missing = await listMissing();
    if (missing.length === 0) return dimensions;
    // The columns are null in earlier rows. Another process may have added them first.
    await table.addColumns(missing).catch(async (error) => {
      if ((await listMissing()).length > 0) throw error;
    });
    return dimensions;
  });
}
