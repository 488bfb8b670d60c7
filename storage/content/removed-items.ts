import type { Collection, MongoClient } from 'mongodb';
import type { RemovalRef } from '../../domain/content/workflow-contract.js';
import { ServiceError } from '../../domain/errors.js';
import { newRemovalId } from '../../domain/ids.js';
import { isTerminal } from '../../domain/states.js';
import type { DatabaseRecord } from './databases.js';
import { discountRatings, type FeedbackRecord, type FeedbackTallyRecord } from './feedback.js';
import type { ItemRecord } from './items.js';

/**
 * What is left of a deleted item: its version counter, since a workflow's id is never used twice, and until it has been
 * cleared away what the item has left behind.
 */
export interface RemovedItemRecord {
  /** The item's key; an item that is added again under its id gets it back. */
  _id: string;
  org: string;
  database_id: string;
  /** The client's id. */
  id: string;
  /** The last one used. */
  version: number;
  /** The removal that has to clear away chunks, index rows, graph and files; null once that is done. */
  removal: string | null;
  /** File ids. */
  files: string[];
  /** From when on the sweep may wonder whether the removal's workflow exists. */
  check_at: Date;
}

export type RemovedItems = ReturnType<typeof createRemovedItems>;

/** Seconds after which a client may ask again about an item under way. */
const PROCESSING_RETRY_SECONDS = 5;

export interface RemovalRequest {
  /** Client ids, 1,000 at the most. */
  ids: readonly string[];
  /** Others are not found. */
  collection?: string | undefined;
  /** What to do with items that are still being indexed. Removed, they end without a webhook. */
  underWay: 'refuse' | 'remove';
}

export interface Removal {
  removed: string[];
  not_found: string[];
  /** What `launcher.startRemoval` takes, to clear away what the items have left behind; null when none was removed. */
  ref: RemovalRef | null;
}

/** Deleted items: gone at once for every reader; what they have left is cleared away by a workflow. */
export function createRemovedItems({
  mongoClient,
  items,
  removedItems,
  feedback,
  feedbackTallies,
}: {
  mongoClient: MongoClient;
  items: Collection<ItemRecord>;
  removedItems: Collection<RemovedItemRecord>;
  feedback: Collection<FeedbackRecord>;
  feedbackTallies: Collection<FeedbackTallyRecord>;
}) {
  return {
    /**
     * Deletes items by their ids, all of those that are there or none.
     * @throws ServiceError SOURCE_PROCESSING when one is under way and that is to be refused
     */
    remove(
      database: Pick<DatabaseRecord, '_id' | 'org'>,
      { ids, collection, underWay }: RemovalRequest,
    ): Promise<Removal> {
      const { _id: databaseId, org } = database;
      return mongoClient.withSession((session) =>
        session.withTransaction(async () => {
          const found = await items
            .find(
              {
                database_id: databaseId,
                org,
                id: { $in: [...ids] },
                ...(collection === undefined ? {} : { collection }),
              },
              { session },
            )
            .project<ItemRecord>({ id: 1, version: 1, indexing_status: 1, 'source.file_id': 1 })
            .toArray();
          const busy = found.find((item) => !isTerminal(item.indexing_status));
          if (busy && underWay === 'refuse') throw sourceProcessing(busy.id);
          const there = new Set(found.map(({ id }) => id));
          const not_found = ids.filter((id) => !there.has(id));
          if (found.length === 0) return { removed: [], not_found, ref: null };
          const ref = { org, removal: newRemovalId() };
          const check_at = new Date();
          await removedItems.bulkWrite(
            found.map(({ _id, id, version, source }) => ({
              updateOne: {
                filter: { _id },
                update: {
                  $set: { org, database_id: databaseId, id, version, removal: ref.removal, check_at },
                  // An earlier removal of the same id may not have been cleared away yet.
                  $addToSet: { files: { $each: 'file_id' in source ? [source.file_id] : [] } },
                },
                upsert: true,
              },
            })),
            { session },
          );
          await items.deleteMany({ _id: { $in: found.map(({ _id }) => _id) } }, { session });
          await discountRatings({ feedback, feedbackTallies }, databaseId, [...there], session);
          return { removed: ids.filter((id) => there.has(id)), not_found, ref };
        }),
      );
    },

    /** What this removal has still to clear away. */
    listPending({ org, removal }: RemovalRef, limit: number): Promise<RemovedItemRecord[]> {
      return removedItems.find({ removal, org }).sort({ _id: 1 }).limit(limit).toArray();
    },

    /** Nothing is left of these but their version counters, unless a later removal has come over them. */
    async markCleared({ removal }: RemovalRef, done: readonly RemovedItemRecord[]): Promise<void> {
      await removedItems.updateMany(
        { _id: { $in: done.map(({ _id }) => _id) }, removal },
        { $set: { removal: null, files: [] } },
      );
    },

    /** Removals that may never have been started; they are not due again before `next`. */
    async takeStale(before: Date, next: Date, limit: number): Promise<RemovalRef[]> {
      const found = await removedItems
        .find({ removal: { $gt: '' }, check_at: { $lt: before } })
        .sort({ check_at: 1 })
        .limit(limit)
        .toArray();
      await removedItems.updateMany({ _id: { $in: found.map(({ _id }) => _id) } }, { $set: { check_at: next } });
      const refs = new Map(found.map(({ org, removal }) => [removal, { org, removal: removal! }]));
      return [...refs.values()];
    },
  };
}

export function sourceProcessing(id: string): ServiceError {
  return new ServiceError('SOURCE_PROCESSING', `The item "${id}" is still being processed.`, PROCESSING_RETRY_SECONDS);
}
