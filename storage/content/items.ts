import type { ClientSession, Collection, Filter } from 'mongodb';
import type { OwnedDatabase } from '../../domain/content/databases.js';
import type { ItemType } from '../../domain/content/search.js';
import { type IndexingStatus, UNFINISHED_INDEXING_STATUSES } from '../../domain/content/states.js';
import type { GroupRef, ItemOutcome, ItemRef } from '../../domain/content/workflow-contract.js';
import type { FileKind } from '../../domain/extraction.js';
import type { OcrLanguage } from '../../domain/ocr-languages.js';
import { BATCH_INDEX, SERVED_FILE_INDEX } from '../indexes.js';
import { BY_ID, staleRecords } from '../queries.js';
import { findNamed } from './named-items.js';

export type ItemSource =
  | {
      kind: 'file';
      file_id: string;
      filename: string;
      file_kind: FileKind;
      mime_type: string;
      size: number;
      /** The language of its scanned pages; the default when absent. */
      language?: OcrLanguage | undefined;
    }
  | { kind: 'text'; text: string };

export interface ItemRecord {
  _id: string;
  org: string;
  /** The database's internal id. */
  database_id: string;
  database: string;
  collection: string;
  /** The client's id, unique in the collection. */
  id: string;
  type: ItemType;
  /** Incremented by each replacement; each version has its own workflow. */
  version: number;
  title: string | null;
  source: ItemSource;
  /** Size of the source, in bytes; of the served version when the newest has failed, because only that is kept. */
  bytes: number;
  /** `contentHash`: an ingest with the same hash changes nothing. Absent when the item differs from what was ingested. */
  content_hash?: string | undefined;
  metadata: Record<string, unknown>;
  additional_metadata: Record<string, unknown>;
  /** `bat_…`: the ingest request, group of requests, or connector batch that added it. */
  batch: string;
  /** Number of its group in the batch, whose workflow indexes it. Absent when it has a workflow of its own. */
  group?: number | undefined;
  /** The version that queries and reads return: the last that completed. Null before the first completes. */
  served_version: number | null;
  /** The content of the served version while it is not the newest version. */
  served?: ServedVersion | undefined;
  indexing_status: IndexingStatus;
  error_code: string | null;
  error_message: string | null;
  /** Ids of the changes that the item's index rows may not show yet. */
  rows_due?: string[];
  /** Counts these changes and the writes of rows. */
  rows_revision?: number;
  /**
   * Runs of the present step that began and have not ended. All but the last are lost. `crashed` counts those that ended with
   * the process that read this item alone.
   */
  runs?: { step: ItemStep; begun: number; crashed?: number };
  /** Time after which the reconciler checks the item's workflow and index rows. */
  check_at: Date;
  created_at: Date;
  updated_at: Date;
}

/** The fields that each version of an item has. */
export type ServedVersion = Pick<
  ItemRecord,
  'version' | 'type' | 'title' | 'source' | 'bytes' | 'metadata' | 'additional_metadata' | 'updated_at'
>;

/** The steps of indexing that may take long. Small items have only one. */
export type ItemStep = 'extract' | 'embed' | 'link' | 'index';

export type Items = ReturnType<typeof createItems>;

/** Projection: only what identifies an item and its state. */
export const WITHOUT_CONTENT = { source: 0, metadata: 0, additional_metadata: 0, served: 0 } as const;
/** Projection: what starting the workflow of an item needs, and more. */
const WITHOUT_TEXT = { 'source.text': 0, metadata: 0, additional_metadata: 0, served: 0 } as const;
/** Projection: what a result shows. */
const WITHOUT_SOURCES = { source: 0, 'served.source': 0 } as const;
/** Projection: of an earlier version only the file. */
export const NEWEST = { 'served.source.text': 0, 'served.metadata': 0, 'served.additional_metadata': 0 } as const;

/** Expression: the crashes of a step, which another step does not keep. */
export const crashesOf = (step: ItemStep) => ({ $cond: [{ $eq: ['$runs.step', step] }, '$runs.crashed', '$$REMOVE'] });

/** Items and their indexing status. Every change of status is one conditional update. */
export function createItems({ items }: { items: Collection<ItemRecord> }) {
  /** A version that has been neither deleted nor replaced. */
  const current = ({ item, org, version }: ItemRef) => ({ _id: item, org, version });

  return {
    /** @returns null when the item was deleted or this version was replaced */
    getByRef(ref: ItemRef): Promise<ItemRecord | null> {
      return items.findOne(current(ref), { projection: NEWEST, ...BY_ID });
    },

    /** @returns the item in any version, without its sources */
    getByKey(org: string, key: string): Promise<ItemRecord | null> {
      return items.findOne({ _id: key, org }, { projection: WITHOUT_SOURCES, ...BY_ID });
    },

    /** Whether this version has been neither deleted nor replaced. Cheaper than reading the item, which may hold a long text. */
    async isCurrent(ref: ItemRef): Promise<boolean> {
      return (await items.findOne(current(ref), { projection: { _id: 1 }, ...BY_ID })) !== null;
    },

    /**
     * Counts a run of a step, sets the status and clears the error. An earlier run may have got further: a status never
     * goes back.
     * @param again false: only if no run of this step has been lost
     * @returns the item, or null when this version was deleted, replaced, or has finished, or a run was lost
     */
    beginRun(
      ref: ItemRef,
      { step, status, again }: { step: ItemStep; status: IndexingStatus; again: boolean },
    ): Promise<ItemRecord | null> {
      const created = { $eq: ['$indexing_status', 'graph_creation'] };
      const begun = { $cond: [{ $eq: ['$runs.step', step] }, { $add: ['$runs.begun', 1] }, 1] };
      return items.findOneAndUpdate(
        {
          ...current(ref),
          indexing_status: { $in: UNFINISHED_INDEXING_STATUSES },
          ...(again ? {} : { 'runs.step': { $ne: step } }),
        },
        [
          {
            $set: {
              runs: { step, begun, crashed: crashesOf(step) },
              indexing_status: { $cond: [created, '$indexing_status', status] },
              error_code: null,
              error_message: null,
              updated_at: new Date(),
            },
          },
        ],
        { returnDocument: 'after', projection: NEWEST, ...BY_ID },
      );
    },

    /** Records that the run of the present step ended by itself, with an error. The next run of it is the first again. */
    async endRun(ref: ItemRef): Promise<void> {
      await items.updateOne(current(ref), { $unset: { runs: '' } }, BY_ID);
    },

    /** Records that the run of the present step ended with the process that read the item. */
    async countCrash(ref: ItemRef): Promise<void> {
      await items.updateOne({ ...current(ref), runs: { $exists: true } }, { $inc: { 'runs.crashed': 1 } }, BY_ID);
    },

    /** Shows an error that is being retried; the next status clears it. */
    async setTransientError(ref: ItemRef, code: string, message: string): Promise<void> {
      await items.updateOne(
        { ...current(ref), indexing_status: { $in: UNFINISHED_INDEXING_STATUSES } },
        { $set: { error_code: code, error_message: message, updated_at: new Date() } },
      );
    },

    /** Does nothing when the item has a title. */
    async setTitle(ref: ItemRef, title: string): Promise<void> {
      await items.updateOne({ ...current(ref), title: null }, { $set: { title } }, BY_ID);
    },

    /**
     * Sets the final status, in the transaction that stores the delivery. A completed version is served from then on; what
     * failed to replace a served version is not kept.
     * @returns the item before that, or null when this version was deleted, replaced, or had finished before
     */
    finish(ref: ItemRef, outcome: ItemOutcome, now: Date, tx: ClientSession): Promise<ItemRecord | null> {
      return items.findOneAndUpdate(
        { ...current(ref), indexing_status: { $in: UNFINISHED_INDEXING_STATUSES } },
        [
          {
            $set: {
              indexing_status: outcome.status,
              error_code: { $literal: outcome.error_code ?? null },
              error_message: { $literal: outcome.error_message ?? null },
              updated_at: now,
              ...(outcome.status === 'completed'
                ? { served_version: ref.version }
                : { bytes: { $ifNull: ['$served.bytes', '$bytes'] } }),
            },
          },
          { $unset: outcome.status === 'completed' ? ['runs', 'served'] : ['runs'] },
        ],
        { session: tx, returnDocument: 'before', ...BY_ID },
      );
    },

    /** @returns the queued items of a request without their texts, each group together */
    streamQueued(org: string, batch: string): AsyncIterable<ItemRecord> {
      return items
        .find({ org, batch, indexing_status: 'queued' }, { hint: BATCH_INDEX })
        .sort({ group: 1, _id: 1 })
        .project<ItemRecord>(WITHOUT_TEXT);
    },

    /** @returns the members of a group that are in progress, without their texts */
    listGroup({ org, batch, group }: GroupRef): Promise<ItemRecord[]> {
      return items
        .find({ org, batch, group, indexing_status: { $in: UNFINISHED_INDEXING_STATUSES } }, { hint: BATCH_INDEX })
        .sort({ _id: 1 })
        .project<ItemRecord>(WITHOUT_TEXT)
        .toArray();
    },

    /** Items in progress, without their texts. */
    stale: staleRecords(items, () => ({ indexing_status: { $in: UNFINISHED_INDEXING_STATUSES } }), {
      projection: WITHOUT_TEXT,
    }),

    /** Whether an item owns the file of a request. */
    async ownsFile({ org, batch, file_id }: { org: string; batch: string; file_id: string }): Promise<boolean> {
      const projection = { _id: 1 } as const;
      if (await items.findOne({ org, batch }, { projection, hint: BATCH_INDEX })) return true;
      // The batch of an item is that of its newest version; the file may be of the version that is served.
      const served = { org, 'served.source.file_id': file_id } as Filter<ItemRecord>;
      return (await items.findOne(served, { projection, hint: SERVED_FILE_INDEX })) !== null;
    },

    /** @returns items by the client's ids, without their content. @throws ServiceError INVALID_PARAMETERS (`findNamed`) */
    listByIds(database: OwnedDatabase, ids: readonly string[], collection?: string): Promise<ItemRecord[]> {
      return findNamed(items, database, { ids, collection }, { projection: WITHOUT_CONTENT });
    },

    /** @returns items by key, without their sources */
    listByKeys(org: string, keys: readonly string[]): Promise<ItemRecord[]> {
      return items
        .find({ _id: { $in: [...keys] }, org }, BY_ID)
        .project<ItemRecord>(WITHOUT_SOURCES)
        .toArray();
    },
  };
}
