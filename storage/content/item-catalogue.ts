import type { OwnedDatabase } from '../../domain/content/databases.js';
import { asServed } from '../../domain/content/items.js';
import { ITEM_TYPES, type ItemType } from '../../domain/content/search.js';
import { hasEnded, INDEXING_STATUSES, type IndexingStatus } from '../../domain/content/states.js';
import { ServiceError } from '../../domain/errors.js';
import { newChangeId } from '../../domain/ids.js';
import type { Access } from '../collections.js';
import { COLLECTION_INDEX, LIST_INDEX } from '../indexes.js';
import { BY_ID, newestFirst, type PageQuery } from '../queries.js';
import { inTransaction } from '../transactions.js';
import { type ItemRecord, WITHOUT_TEXT } from './items.js';
import { findNamed } from './named-items.js';
import { sourceProcessing } from './removed-items.js';

export type ItemCatalogue = ReturnType<typeof createItemCatalogue>;

/** Filters of a list; an absent filter matches every item. */
export interface ItemFilter {
  collection?: string | undefined;
  type?: ItemType | undefined;
  status?: IndexingStatus | undefined;
}

/** Changes that a client may make without ingesting the item again. */
export interface ItemChange {
  /** Merged into the item's metadata; null removes a field. */
  metadata?: Record<string, unknown> | undefined;
  additional_metadata?: Record<string, unknown> | undefined;
}

/** Changes accumulate while the index is unavailable. Older ones are dropped: writing the rows covers all changes. */
const MAX_ROWS_DUE = 100;

/** The items of a database, as clients read, list and change them. */
export function createItemCatalogue({ mongoClient, items, now: clock }: Access<'mongoClient' | 'now' | 'items'>) {
  return {
    /**
     * @param collection the item must be in it
     * @returns an item that can be read: it has a served version, or could not be indexed
     * @throws ServiceError SOURCE_NOT_FOUND, SOURCE_PROCESSING before its first version is complete, INVALID_PARAMETERS
     * (`findNamed`)
     */
    async require(database: OwnedDatabase, id: string, collection?: string): Promise<ItemRecord> {
      const [item] = await findNamed(items, database, { ids: [id], collection });
      if (!item) return notFound(id);
      if (item.served_version === null && !hasEnded(item)) throw sourceProcessing(id);
      return item;
    },

    /** @returns one page, last added first, without the text of text items; a replaced item keeps its place */
    list(database: OwnedDatabase, { collection, type, status }: ItemFilter, page: PageQuery): Promise<ItemRecord[]> {
      const filter = {
        database_id: database._id,
        ...(collection === undefined ? {} : { collection }),
        // An absent filter becomes the list of all values, so that the index returns the page in its order.
        indexing_status: { $in: status === undefined ? [...INDEXING_STATUSES] : [status] },
        type: { $in: type === undefined ? [...ITEM_TYPES] : [type] },
      };
      return (
        newestFirst(items.forOrg(database.org), filter, page)
          // Other indexes match too, but only these return the page in its order. With few items, MongoDB may choose one of the others.
          .hint(collection === undefined ? LIST_INDEX : COLLECTION_INDEX)
          .project<ItemRecord>({ 'source.text': 0, 'served.source.text': 0 })
          .toArray()
      );
    },

    /**
     * Changes the metadata of an item that is not in progress, in its served version. The item then differs from the content that was ingested,
     * so ingesting that content again is not skipped as unchanged, and its index rows are due (`refreshIndexRows`).
     * @param check receives the changed metadata as it would be stored, and throws to reject it
     * @returns the changed item, and the id of this change in `rows_due`
     * @throws ServiceError SOURCE_NOT_FOUND, SOURCE_PROCESSING, INVALID_PARAMETERS (`findNamed`); the error of `check`
     */
    update(
      database: OwnedDatabase,
      { id, collection }: { id: string; collection?: string | undefined },
      change: ItemChange,
      check: (changed: Partial<Pick<ItemRecord, 'metadata' | 'additional_metadata'>>) => void,
    ): Promise<{ item: ItemRecord; change: string }> {
      return inTransaction(mongoClient, async (tx) => {
        const [found] = await findNamed(items, database, { ids: [id], collection }, { session: tx });
        const item = found ?? notFound(id);
        const shown = asServed(item);
        if (!hasEnded(item)) throw sourceProcessing(id);
        const metadata = merge(shown.metadata, change.metadata);
        const additional_metadata = merge(shown.additional_metadata, change.additional_metadata);
        // The other part was valid when it was stored, perhaps under an earlier schema; it is not checked again.
        check({
          ...(change.metadata === undefined ? {} : { metadata }),
          ...(change.additional_metadata === undefined ? {} : { additional_metadata }),
        });
        const now = clock();
        const content = { metadata, additional_metadata, updated_at: now };
        const served = item.served && { ...item.served, ...content };
        const changed = { ...(served ? { served } : content), check_at: now, updated_at: now };
        const changeId = newChangeId();
        await items.forOrg(item.org).updateOne(
          { _id: item._id },
          {
            $set: changed,
            $push: { rows_due: { $each: [changeId], $slice: -MAX_ROWS_DUE } },
            $inc: { rows_revision: 1 },
            $unset: { content_hash: 1 },
          },
          { session: tx },
        );
        return { item: { ...item, ...changed, content_hash: undefined }, change: changeId };
      });
    },

    /**
     * Makes the index rows of all items due that have a value for one of these metadata fields. Rows contain ranges only of
     * fields that were declared when they were written. Repeating it does no harm.
     * @returns some of these items, without their content; the reconciler rewrites the rows of all
     */
    async markFieldsDeclared(database: OwnedDatabase, names: readonly string[], limit: number): Promise<ItemRecord[]> {
      const having = names.flatMap((name) => [
        { [`metadata.${name}`]: { $exists: true } },
        { [`served.metadata.${name}`]: { $exists: true } },
      ]);
      const change = newChangeId();
      const filter = { database_id: database._id, $or: having };
      const own = items.forOrg(database.org);
      const { modifiedCount } = await own.updateMany(filter, {
        $set: { check_at: clock() },
        $push: { rows_due: { $each: [change], $slice: -MAX_ROWS_DUE } },
        $inc: { rows_revision: 1 },
      });
      if (modifiedCount === 0) return [];
      return own
        .find({ ...filter, rows_due: change })
        .limit(limit)
        .project<ItemRecord>(WITHOUT_TEXT)
        .toArray();
    },

    /**
     * Records that the index has rows of the item as it was read.
     * @param item as it was read before the rows were written
     * @returns false when the item was changed or deleted, or its rows were written by another process, since it was read
     */
    async markRowsWritten({ _id, org, version, served_version, rows_revision }: ItemRecord): Promise<boolean> {
      const unchanged = { _id, version, served_version, rows_revision: rows_revision ?? { $exists: false } };
      const written = { $inc: { rows_revision: 1 } };
      return (await items.forOrg(org).updateOne(unchanged, written, BY_ID)).matchedCount === 1;
    },

    /** Records that the index has these changes of the served version. @returns false when there is another version since then */
    async clearRowsDue(
      { _id, org, version, served_version }: ItemRecord,
      changes: readonly string[],
    ): Promise<boolean> {
      const cleared = { $pullAll: { rows_due: [...changes] } };
      return (await items.forOrg(org).updateOne({ _id, version, served_version }, cleared, BY_ID)).matchedCount === 1;
    },

    /** Items whose index rows are out of date, without their content. */
    rowsDue: items.stale(() => ({ rows_due: { $gt: '' } }), { projection: WITHOUT_TEXT }),
  };
}

function merge(before: Record<string, unknown>, change: Record<string, unknown> = {}): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, value]) => value !== null));
}

function notFound(id: string): never {
  throw new ServiceError('SOURCE_NOT_FOUND', `There is no item "${id}".`);
}
