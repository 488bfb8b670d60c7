import type { ClientSession } from 'mongodb';
import type { OwnedDatabase } from '../../domain/content/databases.js';
import { hasEnded, UNFINISHED_INDEXING_STATUSES } from '../../domain/content/states.js';
import type { RemovalRef } from '../../domain/content/workflow-contract.js';
import { ServiceError } from '../../domain/errors.js';
import { ITEM_ERRORS } from '../../domain/extraction.js';
import { newRemovalId } from '../../domain/ids.js';
import type { Access } from '../collections.js';
import { inTransaction } from '../transactions.js';
import type { DeliveryRecord } from '../webhooks/deliveries.js';
import { discountRatings } from './feedback.js';
import { createItemNotifier, type ItemNotifierDependencies } from './item-delivery.js';
import { filesOf, type ItemRecord } from './items.js';
import { findNamed, type NamedItems } from './named-items.js';
import { type EndedItem, outdatedOf } from './outdated-versions.js';

/**
 * Remains of a deleted item: its version counter, because a workflow id is never used twice, and the files that have not
 * been cleared yet.
 */
export interface RemovedItemRecord {
  /** The item's key. An item that is added again under the same id gets this key. */
  _id: string;
  org: string;
  database_id: string;
  /** Its name, for the event of the deletion; absent when only versions are cleared. */
  database?: string;
  collection: string;
  /** The client's id. */
  id: string;
  /** The last version that was used; of an item that exists, the last version to clear. */
  version: number;
  /** True when the item exists, and only earlier or failed versions of it are cleared. */
  live?: true;
  /** The version that is served and stays. */
  keep?: number;
  /** The removal that has to clear chunks, index rows, graph and files; null once they are cleared. */
  removal: string | null;
  /** File ids. */
  files: string[];
  /** Time after which the reconciler checks the removal's workflow. */
  check_at: Date;
}

/** Projection: what the webhook of an item contains. */
const NOTIFIED_FIELDS = { org: 1, id: 1, database: 1, database_id: 1, collection: 1, version: 1 } as const;

/** What is left of an item to clear. */
type Remains = Omit<RemovedItemRecord, 'removal' | 'check_at'>;

export type RemovedItems = ReturnType<typeof createRemovedItems>;

/** Seconds after which a client may try again to change an item in progress. */
const PROCESSING_RETRY_SECONDS = 5;

export interface Removal {
  removed: string[];
  not_found: string[];
  /** Input of `startRemoval`, whose workflow clears the remaining data of the items; null when none was removed. */
  ref: RemovalRef | null;
  /** Of the items that were in progress. The caller starts their workflows. */
  deliveries: DeliveryRecord[];
}

/** How items end that are deleted in progress. */
const INTERRUPTED = { status: 'errored', error_code: 'E2005', error_message: ITEM_ERRORS.E2005 } as const;

/** Deleted items and outdated versions. Clients do not see them from that moment; their remaining data is cleared after it. */
export function createRemovedItems({
  mongoClient,
  items,
  removedItems,
  feedback,
  feedbackTallies,
  now: clock,
  ...notified
}: Access<'mongoClient' | 'items' | 'removedItems' | 'feedback' | 'feedbackTallies' | 'now'> &
  ItemNotifierDependencies) {
  const notify = createItemNotifier(notified);

  /** Records what a new removal has to clear. */
  async function record(remains: readonly Remains[], check_at: Date, tx: ClientSession): Promise<RemovalRef | null> {
    if (remains.length === 0) return null;
    const ref = { org: remains[0]!.org, removal: newRemovalId() };
    await removedItems.forOrg(ref.org).updateEach(
      remains.map(({ _id, org: _, files, ...fields }) => ({
        filter: { _id },
        update: {
          $set: { ...fields, removal: ref.removal, check_at },
          // What an earlier removal has set.
          $unset: { ...(fields.live ? {} : { live: true }), ...(fields.keep === undefined ? { keep: true } : {}) },
          // The files of an earlier removal may not be cleared yet.
          $addToSet: { files: { $each: files } },
        },
        upsert: true,
      })),
      { session: tx },
    );
    return ref;
  }

  return {
    /**
     * Deletes all of these items that exist, in one transaction. Items in progress end as `errored` with E2005.
     * @param named at most 1,000
     * @throws ServiceError INVALID_PARAMETERS (`findNamed`)
     */
    remove(database: OwnedDatabase, named: NamedItems): Promise<Removal> {
      const { org } = database;
      const { ids } = named;
      const projection = { ...NOTIFIED_FIELDS, indexing_status: 1, 'source.file_id': 1, 'served.source.file_id': 1 };
      return inTransaction(mongoClient, async (tx) => {
        const found = await findNamed(items, database, named, { projection, session: tx });
        const existing = new Set(found.map(({ id }) => id));
        const now = clock();
        const ref = await record(
          found.map(({ _id, database_id, database: name, collection, id, version, source, served }) => {
            return {
              _id,
              org,
              database_id,
              database: name,
              collection,
              id,
              version,
              files: filesOf(source, served?.source),
            };
          }),
          now,
          tx,
        );
        await items.forOrg(org).deleteMany({ _id: { $in: found.map(({ _id }) => _id) } }, { session: tx });
        const interrupted = found.filter((item) => !hasEnded(item));
        const deliveries = await notify(interrupted, INTERRUPTED, now, tx);
        await discountRatings({ feedback, feedbackTallies }, database, found, tx);
        return {
          removed: ids.filter((id) => existing.has(id)),
          not_found: ids.filter((id) => !existing.has(id)),
          ref,
          deliveries,
        };
      });
    },

    /**
     * Records what to clear of items of one database that have ended, in the transaction of that.
     * @param completed whether the newest version of each is served now; else the version before stays
     * @returns null when there is nothing to clear
     */
    addOutdated(
      items: readonly EndedItem[],
      completed: boolean,
      now: Date,
      tx: ClientSession,
    ): Promise<RemovalRef | null> {
      return record(
        items.flatMap((item) => outdatedOf(item, completed)),
        now,
        tx,
      );
    },

    /**
     * Ends items in progress of a database that is being deleted as `errored` with E2005, and deletes their records.
     * @param keys of the items; without them, up to `limit` of all
     * @returns their deliveries, whose workflows the caller starts, and the files that the items own
     */
    interrupt(
      { _id: database_id, org }: OwnedDatabase,
      { keys, limit }: { keys?: readonly string[]; limit: number },
    ): Promise<{ interrupted: number; deliveries: DeliveryRecord[]; file_ids: string[] }> {
      return inTransaction(mongoClient, async (tx) => {
        const found = await items
          .forOrg(org)
          .find(
            {
              database_id,
              indexing_status: { $in: UNFINISHED_INDEXING_STATUSES },
              ...(keys ? { _id: { $in: [...keys] } } : {}),
            },
            { session: tx },
          )
          .project<ItemRecord>({ ...NOTIFIED_FIELDS, 'source.file_id': 1, 'served.source.file_id': 1 })
          .limit(limit)
          .toArray();
        await items.forOrg(org).deleteMany({ _id: { $in: found.map(({ _id }) => _id) } }, { session: tx });
        const deliveries = await notify(found, INTERRUPTED, clock(), tx);
        return {
          interrupted: found.length,
          deliveries,
          file_ids: found.flatMap(({ source, served }) => filesOf(source, served?.source)),
        };
      });
    },

    /** @returns items whose remaining data this removal has not cleared yet, by key */
    listPending({ org, removal }: RemovalRef, limit: number): Promise<RemovedItemRecord[]> {
      return removedItems.forOrg(org).find({ removal }).sort({ _id: 1 }).limit(limit).toArray();
    },

    /**
     * Records that only the version counters of these items remain; an item that exists needs none. Skips items that a later
     * removal has to clear.
     */
    async markCleared({ org, removal }: RemovalRef, cleared: readonly RemovedItemRecord[]): Promise<void> {
      const own = removedItems.forOrg(org);
      const those = { _id: { $in: cleared.map(({ _id }) => _id) }, removal };
      await own.deleteMany({ ...those, live: true });
      await own.updateMany(those, { $set: { removal: null, files: [] } });
    },

    /** What is not cleared yet. */
    stale: removedItems.stale(() => ({ removal: { $gt: '' } }), { projection: { org: 1, removal: 1 } }),
  };
}

/** The error for a change to an item that is in progress. */
export function sourceProcessing(id: string): ServiceError {
  return new ServiceError('SOURCE_PROCESSING', `The item "${id}" is still being processed.`, {
    retryAfterSeconds: PROCESSING_RETRY_SECONDS,
  });
}
