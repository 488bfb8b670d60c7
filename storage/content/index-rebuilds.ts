import type { EmbeddingModel } from '../../domain/content/embedding-models.js';
import type { SearchEngine } from '../../domain/content/index-generations.js';
import { type RebuildStatus, UNFINISHED_REBUILD_STATUSES } from '../../domain/content/states.js';
import { newRebuildId } from '../../domain/ids.js';
import { DAY_MS } from '../../domain/webhooks/delivery-policy.js';
import type { Access } from '../collections.js';
import { staleRecords } from '../queries.js';
import { isDuplicateKey } from '../transactions.js';

/** A rebuild of search indexes with new vectors, or its plan. */
export interface IndexRebuildRecord {
  /** `rbd_…` */
  _id: string;
  /** `planned`: only the plan was requested. `failed`: it could not be planned. */
  status: RebuildStatus;
  /** Internal id of the only database to rebuild; null: all. */
  database: string | null;
  /** Whether databases are rebuilt that have all vectors of the model. */
  all: boolean;
  /** The engine that the databases of other engines are moved to; absent: each keeps its engine. */
  engine?: SearchEngine;
  /** Null until it is planned. */
  plan: RebuildPlan | null;
  /** Internal ids of the databases that are not switched yet, the current one first. */
  remaining: string[];
  /** Scans of the current database: the first reads every chunk, the following those that still lack a vector. */
  scan: number;
  /** The last chunk of the current scan that was handled; null before the first. */
  position: string | null;
  /** Chunks without a vector that the current scan has found and embedded. */
  found: number;
  /** Chunks handled in first scans. */
  handled: number;
  /** Chunks that the model has embedded. */
  embedded: number;
  /** The error that is being retried. */
  error: string | null;
  created_at: Date;
  updated_at: Date;
  /** Time after which the reconciler checks the workflow again; absent before its first check. */
  check_at?: Date;
  /** When MongoDB removes the record; null while it runs. */
  expires_at: Date | null;
}

export interface RebuildPlan {
  /** Of the new vectors. A move keeps the vectors: null without a model for databases that have none. */
  model: EmbeddingModel | null;
  databases: number;
  chunks: number;
  /** Chunks to embed; others have a vector of the model. */
  to_embed: number;
  /** Characters of the chunks to embed, about. */
  characters: number;
  /** The first databases. */
  list: PlannedDatabase[];
}

export interface PlannedDatabase {
  _id: string;
  org: string;
  name: string;
  /** The model of its vectors now; null: none. */
  from: EmbeddingModel | null;
  chunks: number;
  to_embed: number;
  characters: number;
}

export type RebuildRequest = Pick<IndexRebuildRecord, 'all' | 'database' | 'engine'>;

export type IndexRebuilds = ReturnType<typeof createIndexRebuilds>;

const KEPT_MS = 30 * DAY_MS;

/** Rebuilds of search indexes. At most one runs. */
export function createIndexRebuilds({ indexRebuilds, now: clock }: Access<'indexRebuilds' | 'now'>) {
  const getRunning = () => indexRebuilds.findOne({ status: 'running' });
  const update = async (filter: Partial<IndexRebuildRecord> & object, change: Partial<IndexRebuildRecord>) => {
    await indexRebuilds.updateOne(filter, { $set: { ...change, updated_at: clock() } });
  };

  return {
    getRunning,

    getById(rebuildId: string): Promise<IndexRebuildRecord | null> {
      return indexRebuilds.findOne({ _id: rebuildId });
    },

    /** @returns the plan's record, or the rebuild that runs: a new one only when none does */
    async add(request: RebuildRequest, status: 'planning' | 'running'): Promise<IndexRebuildRecord> {
      const now = clock();
      const record: IndexRebuildRecord = {
        _id: newRebuildId(),
        status,
        ...request,
        plan: null,
        remaining: [],
        ...NOT_SCANNED,
        handled: 0,
        embedded: 0,
        error: null,
        created_at: now,
        updated_at: now,
        expires_at: status === 'planning' ? new Date(now.getTime() + KEPT_MS) : null,
      };
      for (;;) {
        try {
          await indexRebuilds.insertOne(record);
          return record;
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
          const running = await getRunning();
          if (running) return running;
        }
      }
    },

    /** Stores the plan once. planning -> planned */
    async setPlan({ _id, status }: IndexRebuildRecord, plan: RebuildPlan, remaining: string[]): Promise<void> {
      const planned = status === 'planning' ? ({ status: 'planned' } as const) : { remaining };
      await update({ _id, status, plan: null }, { plan, ...planned, error: null });
    },

    /** Stores that the chunks up to `position` have been handled. */
    async advance(
      { _id, position, scan }: IndexRebuildRecord,
      { next, handled, embedded, found }: { next: string; handled: number; embedded: number; found: number },
    ): Promise<void> {
      await indexRebuilds.updateOne(
        { _id, position, scan },
        {
          $set: { position: next, error: null, updated_at: clock() },
          $inc: { handled: scan === 0 ? handled : 0, embedded, found },
        },
      );
    },

    /** Begins the next scan of the current database. */
    async scanAgain({ _id, scan }: IndexRebuildRecord): Promise<void> {
      await update({ _id, scan }, { ...NOT_SCANNED, scan: scan + 1 });
    },

    /** Continues with the next database. */
    async finishDatabase(rebuildId: string, databaseId: string): Promise<void> {
      const current = { _id: rebuildId, 'remaining.0': databaseId };
      await indexRebuilds.updateOne(current, {
        $set: { ...NOT_SCANNED, updated_at: clock() },
        $pop: { remaining: -1 },
      });
    },

    /** Shows an error that is being retried. */
    async setError(rebuildId: string, error: string): Promise<void> {
      await indexRebuilds.updateOne({ _id: rebuildId }, { $set: { error } });
    },

    /** running -> completed | cancelled | failed; planning -> failed */
    async end(
      rebuildId: string,
      status: 'completed' | 'cancelled' | 'failed',
      error: string | null = null,
    ): Promise<void> {
      const now = clock();
      await indexRebuilds.updateOne(
        { _id: rebuildId, status: { $in: UNFINISHED_REBUILD_STATUSES } },
        { $set: { status, error, updated_at: now, expires_at: new Date(now.getTime() + KEPT_MS) } },
      );
    },

    /** Rebuilds and plans without progress. */
    stale: staleRecords<IndexRebuildRecord>(indexRebuilds, (before) => ({
      status: { $in: UNFINISHED_REBUILD_STATUSES },
      updated_at: { $lt: before },
    })),
  };
}

const NOT_SCANNED = { scan: 0, position: null, found: 0 };
