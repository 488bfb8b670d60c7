import type { ClientSession } from 'mongodb';
import type { OwnedDatabase } from '../../domain/content/databases.js';
import type { ItemType } from '../../domain/content/search.js';
import {
  type FinalIndexingStatus,
  type IndexingStatus,
  UNFINISHED_INDEXING_STATUSES,
} from '../../domain/content/states.js';
import { type ItemOutcome, type ItemRef, refOf } from '../../domain/content/workflow-contract.js';
import type { FileKind } from '../../domain/extraction.js';
import type { OcrLanguage } from '../../domain/ocr-languages.js';
import type { Access } from '../collections.js';
import { BATCH_INDEX, SERVED_FILE_INDEX } from '../indexes.js';
import { BY_ID } from '../queries.js';
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
  /** With `errored`: the status before. Absent on versions that failed under a release without this field. */
  failed_step?: Exclude<IndexingStatus, FinalIndexingStatus> | undefined;
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
export const VERSION_FIELDS = [
  'version',
  'type',
  'title',
  'source',
  'bytes',
  'metadata',
  'additional_metadata',
  'updated_at',
] as const;
export type ServedVersion = Pick<ItemRecord, (typeof VERSION_FIELDS)[number]>;

/** The steps of indexing that may take long. Small items have only one. */
export type ItemStep = 'extract' | 'embed' | 'link' | 'index';

export type Items = ReturnType<typeof createItems>;

/** Projection: what identifies an item, its state and its files. */
export const WITHOUT_TEXT = {
  'source.text': 0,
  metadata: 0,
  additional_metadata: 0,
  'served.source.text': 0,
  'served.metadata': 0,
  'served.additional_metadata': 0,
} as const;
/** Projection: what a result shows. */
const WITHOUT_SOURCES = { source: 0, 'served.source': 0 } as const;
/** Projection: of an earlier version only the file. */
const NEWEST = { 'served.source.text': 0, 'served.metadata': 0, 'served.additional_metadata': 0 } as const;

/** @returns ids of the files of these sources */
export function filesOf(...sources: readonly (ItemSource | undefined)[]): string[] {
  return sources.flatMap((source) => (source && 'file_id' in source ? source.file_id : []));
}

/** Versions that have been neither deleted nor replaced. */
const current = (versions: readonly ItemRef[]) => {
  const { version } = versions[0]!;
  const sameVersion = versions.every((other) => other.version === version);
  return {
    _id: { $in: versions.map(({ item }) => item) },
    ...(sameVersion ? { version } : { $or: versions.map((each) => ({ _id: each.item, version: each.version })) }),
  };
};
/** Those of them that have not ended. */
const inProgress = (versions: readonly ItemRef[]) => ({
  ...current(versions),
  indexing_status: { $in: UNFINISHED_INDEXING_STATUSES },
});

/**
 * Items and their indexing status. Each change of a status is one conditional update of those of the given versions that are in
 * progress. Versions that are given together are of one organisation.
 */
export function createItems({ items, now }: Access<'items' | 'now'>) {
  const own = (versions: readonly ItemRef[]) => items.forOrg(versions[0]!.org);

  async function keepInProgress(versions: readonly ItemRef[]): Promise<ReadonlySet<string>> {
    const found = await own(versions)
      .find(inProgress(versions), { projection: { _id: 1 }, ...BY_ID })
      .toArray();
    return new Set(found.map(({ _id }) => _id));
  }

  return {
    /** @returns those that have been neither deleted nor replaced, with their content */
    listVersions(versions: readonly ItemRef[]): Promise<ItemRecord[]> {
      return own(versions)
        .find(current(versions), { projection: NEWEST, ...BY_ID })
        .toArray();
    },

    /** Whether this version has been neither deleted nor replaced. Cheaper than reading the item, which may hold a long text. */
    async isCurrent(version: ItemRef): Promise<boolean> {
      return (await own([version]).findOne(current([version]), { projection: { _id: 1 }, ...BY_ID })) !== null;
    },

    /** @returns the keys of those that are in progress */
    keepInProgress,

    /**
     * Counts a run of a step, sets the status and clears the error. An earlier run may have got further: a status never
     * goes back.
     * @returns how many have begun; the others were deleted or replaced, or have ended
     */
    async beginRuns(
      versions: readonly ItemRef[],
      { step, status }: { step: ItemStep; status: IndexingStatus },
    ): Promise<number> {
      const created = { $eq: ['$indexing_status', 'graph_creation'] };
      const ofStep = (count: unknown, otherwise: unknown) => ({
        $cond: [{ $eq: ['$runs.step', step] }, count, otherwise],
      });
      const change = {
        runs: {
          step,
          begun: ofStep({ $add: ['$runs.begun', 1] }, 1),
          crashed: ofStep('$runs.crashed', '$$REMOVE'),
        },
        indexing_status: { $cond: [created, '$indexing_status', status] },
        error_code: null,
        error_message: null,
        updated_at: now(),
      };
      return (await own(versions).updateMany(inProgress(versions), [{ $set: change }], BY_ID)).matchedCount;
    },

    /** Records that the runs of the present step ended by themselves. The next run of each is the first again. */
    async endRuns(versions: readonly ItemRef[]): Promise<void> {
      if (versions.length > 0) await own(versions).updateMany(inProgress(versions), { $unset: { runs: '' } }, BY_ID);
    },

    /** Records that the runs of the present step ended with the processes that read the items. */
    async countCrashes(versions: readonly ItemRef[]): Promise<void> {
      if (versions.length === 0) return;
      await own(versions).updateMany(
        { ...inProgress(versions), runs: { $exists: true } },
        { $inc: { 'runs.crashed': 1 } },
        BY_ID,
      );
    },

    /** processing -> graph_creation. @returns the keys of those that are still in progress */
    async linkGraph(versions: readonly ItemRef[]): Promise<ReadonlySet<string>> {
      const change = { $set: { indexing_status: 'graph_creation' as const, updated_at: now() } };
      const { matchedCount } = await own(versions).updateMany(inProgress(versions), change, BY_ID);
      return matchedCount === versions.length ? new Set(versions.map(({ item }) => item)) : keepInProgress(versions);
    },

    /** Shows an error that is being retried; the next status clears it. */
    async setTransientError(versions: readonly ItemRef[], error_code: string, error_message: string): Promise<void> {
      const change = { $set: { error_code, error_message, updated_at: now() } };
      if (versions.length > 0) await own(versions).updateMany(inProgress(versions), change, BY_ID);
    },

    /** Does nothing when the item has a title. */
    async setTitle(version: ItemRef, title: string): Promise<void> {
      await own([version]).updateOne({ ...current([version]), title: null }, { $set: { title } }, BY_ID);
    },

    /**
     * Sets the final status, in the transaction that stores the deliveries. A completed version is served from then on; what
     * failed to replace a served version is not kept.
     * @returns those that were in progress, as they were before that and without their texts
     */
    async end(versions: readonly ItemRef[], outcome: ItemOutcome, now: Date, tx: ClientSession): Promise<ItemRecord[]> {
      const ended = await own(versions)
        .find(inProgress(versions), { projection: WITHOUT_TEXT, session: tx, ...BY_ID })
        .toArray();
      if (ended.length === 0) return [];
      const completed = outcome.status === 'completed';
      await own(versions).updateMany(
        inProgress(ended.map(refOf)),
        [
          {
            $set: {
              indexing_status: outcome.status,
              ...(completed ? {} : { failed_step: '$indexing_status' }),
              error_code: { $literal: outcome.error_code ?? null },
              error_message: { $literal: outcome.error_message ?? null },
              updated_at: now,
              ...(completed ? { served_version: '$version' } : { bytes: { $ifNull: ['$served.bytes', '$bytes'] } }),
            },
          },
          { $unset: completed ? ['runs', 'served'] : ['runs'] },
        ],
        { session: tx, ...BY_ID },
      );
      return ended;
    },

    /** @returns the queued items of a request, without their texts */
    listQueued(org: string, batch: string): Promise<ItemRecord[]> {
      return items
        .forOrg(org)
        .find({ batch, indexing_status: 'queued' }, { hint: BATCH_INDEX })
        .project<ItemRecord>(WITHOUT_TEXT)
        .toArray();
    },

    /** @returns the members of a group that are in progress, without their texts */
    listGroup(org: string, batch: string, group: number): Promise<ItemRecord[]> {
      return items
        .forOrg(org)
        .find({ batch, group, indexing_status: { $in: UNFINISHED_INDEXING_STATUSES } }, { hint: BATCH_INDEX })
        .sort({ _id: 1 })
        .project<ItemRecord>(WITHOUT_TEXT)
        .toArray();
    },

    /** Items in progress, without their texts. */
    stale: items.stale(() => ({ indexing_status: { $in: UNFINISHED_INDEXING_STATUSES } }), {
      projection: WITHOUT_TEXT,
    }),

    /** Whether an item owns the file of a request. */
    async ownsFile({ org, batch, file_id }: { org: string; batch: string; file_id: string }): Promise<boolean> {
      const projection = { _id: 1 } as const;
      // Other files of the batch may have been rejected, or be the same as before.
      const newest = { batch, 'source.file_id': file_id };
      if (await items.forOrg(org).findOne(newest, { projection, hint: BATCH_INDEX })) return true;
      // The batch of an item is that of its newest version; the file may be of the version that is served.
      const served = { 'served.source.file_id': file_id };
      return (await items.forOrg(org).findOne(served, { projection, hint: SERVED_FILE_INDEX })) !== null;
    },

    /** @returns items by the client's ids, without their content. @throws ServiceError INVALID_PARAMETERS (`findNamed`) */
    listByIds(database: OwnedDatabase, ids: readonly string[], collection?: string): Promise<ItemRecord[]> {
      return findNamed(items, database, { ids, collection }, { projection: WITHOUT_TEXT });
    },

    /** @returns items by key in any version, without their sources */
    listByKeys(org: string, keys: readonly string[]): Promise<ItemRecord[]> {
      return items
        .forOrg(org)
        .find({ _id: { $in: [...keys] } }, BY_ID)
        .project<ItemRecord>(WITHOUT_SOURCES)
        .toArray();
    },
  };
}
