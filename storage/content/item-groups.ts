import type { ClientSession, Collection } from 'mongodb';
import {
  FINAL_INDEXING_STATUSES,
  type IndexingStatus,
  UNFINISHED_INDEXING_STATUSES,
} from '../../domain/content/states.js';
import type { GroupRef } from '../../domain/content/workflow-contract.js';
import { BATCH_INDEX } from '../indexes.js';
import { BY_ID } from '../queries.js';
import { crashesOf, type ItemRecord, NEWEST, WITHOUT_CONTENT } from './items.js';

export type ItemGroups = ReturnType<typeof createItemGroups>;

/** The fields that identify versions of items of one batch: a replacement belongs to another batch. */
type Version = Pick<ItemRecord, '_id' | 'batch' | 'org'>;

/**
 * Changes items of one batch together, which are of one organisation. Each change is one conditional update of those that have been neither deleted nor
 * replaced and have not finished.
 */
export function createItemGroups({ items }: { items: Collection<ItemRecord> }) {
  const inProgress = (versions: readonly Version[]) => ({
    _id: { $in: versions.map(({ _id }) => _id) },
    org: versions[0]!.org,
    batch: { $in: [...new Set(versions.map(({ batch }) => batch))] },
    indexing_status: { $in: UNFINISHED_INDEXING_STATUSES },
  });

  async function keepInProgress<Item extends Version>(versions: readonly Item[], tx?: ClientSession): Promise<Item[]> {
    if (versions.length === 0) return [];
    const found = await items.find(inProgress(versions), { projection: { _id: 1 }, session: tx, ...BY_ID }).toArray();
    const keys = new Set(found.map(({ _id }) => _id));
    return versions.filter(({ _id }) => keys.has(_id));
  }

  return {
    /** @returns the members of a group that are in progress, with the content of their newest versions */
    listMembers({ org, batch, group }: GroupRef): Promise<ItemRecord[]> {
      return items
        .find({ org, batch, group, indexing_status: { $in: UNFINISHED_INDEXING_STATUSES } }, { hint: BATCH_INDEX })
        .project<ItemRecord>(NEWEST)
        .toArray();
    },

    /** @returns the members that have finished, without their content */
    listFinished({ org, batch, group }: GroupRef): Promise<ItemRecord[]> {
      return items
        .find({ org, batch, group, indexing_status: { $in: [...FINAL_INDEXING_STATUSES] } }, { hint: BATCH_INDEX })
        .project<ItemRecord>(WITHOUT_CONTENT)
        .toArray();
    },

    /**
     * queued -> processing, and counts a run. An earlier run may have got further: a status never goes back.
     * @param begun the number of the run
     */
    async begin(versions: readonly Version[], begun = 1): Promise<void> {
      const created = { $eq: ['$indexing_status', 'graph_creation'] };
      const change = {
        runs: { step: 'index', begun, crashed: crashesOf('index') },
        indexing_status: { $cond: [created, '$indexing_status', 'processing'] },
        error_code: null,
        error_message: null,
        updated_at: new Date(),
      };
      await items.updateMany(inProgress(versions), [{ $set: change }], BY_ID);
    },

    /** Records that the runs ended by themselves. The next run of each is the first again. */
    async endRuns(versions: readonly Version[]): Promise<void> {
      if (versions.length > 0) await items.updateMany(inProgress(versions), { $unset: { runs: '' } }, BY_ID);
    },

    /** Records that the runs ended with the processes that read the items. */
    async countCrashes(versions: readonly Version[]): Promise<void> {
      if (versions.length > 0) await items.updateMany(inProgress(versions), { $inc: { 'runs.crashed': 1 } }, BY_ID);
    },

    keepInProgress,

    /** @returns the statuses of these versions, by key. A version that was deleted or replaced has none. */
    async getStatuses(
      versions: readonly Pick<ItemRecord, '_id' | 'org' | 'version'>[],
    ): Promise<ReadonlyMap<string, IndexingStatus>> {
      if (versions.length === 0) return new Map();
      const found = await items
        .find(
          {
            _id: { $in: versions.map(({ _id }) => _id) },
            org: versions[0]!.org,
            $or: versions.map(({ _id, version }) => ({ _id, version })),
          },
          BY_ID,
        )
        .project<Pick<ItemRecord, '_id' | 'indexing_status'>>({ indexing_status: 1 })
        .toArray();
      return new Map(found.map(({ _id, indexing_status }) => [_id, indexing_status]));
    },

    /** processing -> graph_creation. @returns those that are still in progress */
    async linkGraph<Item extends Version>(versions: readonly Item[]): Promise<Item[]> {
      if (versions.length === 0) return [];
      const change = { $set: { indexing_status: 'graph_creation' as const, updated_at: new Date() } };
      const { matchedCount } = await items.updateMany(inProgress(versions), change, BY_ID);
      return matchedCount === versions.length ? [...versions] : keepInProgress(versions);
    },

    /** -> completed and served, in the transaction that stores the deliveries. @returns those that were in progress */
    async complete<Item extends Version>(versions: readonly Item[], now: Date, tx: ClientSession): Promise<Item[]> {
      const finished = await keepInProgress(versions, tx);
      if (finished.length === 0) return [];
      await items.updateMany(
        inProgress(finished),
        [
          {
            $set: {
              indexing_status: 'completed',
              served_version: '$version',
              error_code: null,
              error_message: null,
              updated_at: now,
            },
          },
          { $unset: ['runs', 'served'] },
        ],
        { session: tx, ...BY_ID },
      );
      return finished;
    },

    /** Shows an error that is being retried; the next status clears it. */
    async setTransientError({ org, batch, group }: GroupRef, error_code: string, error_message: string): Promise<void> {
      await items.updateMany(
        { org, batch, group, indexing_status: { $in: UNFINISHED_INDEXING_STATUSES } },
        { $set: { error_code, error_message, updated_at: new Date() } },
        { hint: BATCH_INDEX },
      );
    },

    /** The items have workflows of their own from now. */
    async leave(versions: readonly Version[]): Promise<void> {
      if (versions.length > 0) await items.updateMany(inProgress(versions), { $unset: { group: '' } }, BY_ID);
    },
  };
}
