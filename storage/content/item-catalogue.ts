import type { Collection, MongoClient } from 'mongodb';
import { ITEM_TYPES, type ItemType } from '../../domain/content/search.js';
import { ServiceError } from '../../domain/errors.js';
import { newChangeId } from '../../domain/ids.js';
import { INDEXING_STATUSES, type IndexingStatus, isTerminal } from '../../domain/states.js';
import { COLLECTION_INDEX, LIST_INDEX } from '../indexes.js';
import type { ItemRecord } from './items.js';
import { sourceProcessing } from './removed-items.js';

export type ItemCatalogue = ReturnType<typeof createItemCatalogue>;

/** What a list is filtered by; what is absent restricts nothing. */
export interface ItemFilter {
  collection?: string | undefined;
  type?: ItemType | undefined;
  status?: IndexingStatus | undefined;
}

/** Part of an item that a client may change without ingesting it again. */
export interface ItemChange {
  /** Merged into what is there; null takes a field away. */
  metadata?: Record<string, unknown> | undefined;
  additional_metadata?: Record<string, unknown> | undefined;
}

/** While the index is away changes pile up; what is due for some of them is written for all. */
const MAX_ROWS_DUE = 100;

/** Items as their clients look them up and change them. */
export function createItemCatalogue({
  mongoClient,
  items,
}: {
  mongoClient: MongoClient;
  items: Collection<ItemRecord>;
}) {
  return {
    /** @throws ServiceError SOURCE_NOT_FOUND */
    async require(databaseId: string, id: string, collection?: string): Promise<ItemRecord> {
      const item = await items.findOne({
        database_id: databaseId,
        id,
        ...(collection === undefined ? {} : { collection }),
      });
      if (!item) throw new ServiceError('SOURCE_NOT_FOUND', `There is no item "${id}".`);
      return item;
    },

    /** By the time of their first ingest, newest first. @param before the last key of the page before */
    list(
      databaseId: string,
      filter: ItemFilter,
      page: { before?: string | undefined; limit: number },
    ): Promise<ItemRecord[]> {
      return (
        items
          .find({
            database_id: databaseId,
            ...(filter.collection === undefined ? {} : { collection: filter.collection }),
            // All values instead of none, so that an index gives the page in its order.
            indexing_status: { $in: filter.status === undefined ? [...INDEXING_STATUSES] : [filter.status] },
            type: { $in: filter.type === undefined ? [...ITEM_TYPES] : [filter.type] },
            ...(page.before === undefined ? {} : { _id: { $lt: page.before } }),
          })
          .sort({ _id: -1 })
          // Of several indexes that fit, only these give the page in its order; a small table does not show which is better.
          .hint(filter.collection === undefined ? LIST_INDEX : COLLECTION_INDEX)
          .limit(page.limit)
          .project<ItemRecord>({ 'source.text': 0 })
          .toArray()
      );
    },

    /**
     * Changes what a client may change of an item that has ended. The item is then no longer what was ingested, so the
     * same content ingested again counts as new; and its index rows are due (`refreshIndexRows`).
     * @param check is given what changes as it would be, and throws when it must not be so
     * @returns the item as it is now, and the id of this change among those in `rows_due`
     * @throws ServiceError SOURCE_NOT_FOUND, SOURCE_PROCESSING
     */
    update(
      { database_id: databaseId, id, collection }: { database_id: string; id: string; collection?: string | undefined },
      change: ItemChange,
      check: (changed: Partial<Pick<ItemRecord, 'metadata' | 'additional_metadata'>>) => void,
    ): Promise<{ item: ItemRecord; change: string }> {
      return mongoClient.withSession((session) =>
        session.withTransaction(async () => {
          const of = { database_id: databaseId, id, ...(collection === undefined ? {} : { collection }) };
          const item = await items.findOne(of, { session });
          if (!item) throw new ServiceError('SOURCE_NOT_FOUND', `There is no item "${id}".`);
          if (!isTerminal(item.indexing_status)) throw sourceProcessing(id);
          const metadata = merged(item.metadata, change.metadata);
          const additional_metadata = merged(item.additional_metadata, change.additional_metadata);
          // The rest was fit when it came, or belongs to an earlier schema: no reason to refuse what has nothing to do with it.
          check({
            ...(change.metadata === undefined ? {} : { metadata }),
            ...(change.additional_metadata === undefined ? {} : { additional_metadata }),
          });
          const now = new Date();
          const changed = { metadata, additional_metadata, check_at: now, updated_at: now };
          const due = newChangeId();
          await items.updateOne(
            { _id: item._id },
            {
              $set: changed,
              $push: { rows_due: { $each: [due], $slice: -MAX_ROWS_DUE } },
              $inc: { rows_revision: 1 },
              $unset: { content_hash: 1 },
            },
            { session },
          );
          return { item: { ...item, ...changed, content_hash: undefined }, change: due };
        }),
      );
    },

    /**
     * The index has the rows of this item as it was read, so these changes are not due any more.
     * @returns false when it has been changed since, or its rows were written by another meanwhile, or it is gone
     */
    async markRowsWritten({ _id, version, rows_revision }: ItemRecord, changes: readonly string[]): Promise<boolean> {
      const asRead = { _id, version, rows_revision: rows_revision ?? { $exists: false } };
      const settled = { $pullAll: { rows_due: [...changes] }, $inc: { rows_revision: 1 } };
      return (await items.updateOne(asRead, settled)).matchedCount === 1;
    },

    /** Items whose index rows may have been forgotten, oldest first; they are not due again before `next`. */
    async takeRowsDue(before: Date, next: Date, limit: number): Promise<ItemRecord[]> {
      const found = await items
        .find({ rows_due: { $gt: '' }, check_at: { $lt: before } })
        .sort({ check_at: 1 })
        .limit(limit)
        .project<ItemRecord>({ source: 0, metadata: 0, additional_metadata: 0 })
        .toArray();
      await items.updateMany({ _id: { $in: found.map(({ _id }) => _id) } }, { $set: { check_at: next } });
      return found;
    },
  };
}

function merged(before: Record<string, unknown>, change: Record<string, unknown> = {}): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, value]) => value !== null));
}
