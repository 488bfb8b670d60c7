import type { ClientSession } from 'mongodb';
import type { OwnedDatabase } from '../../domain/content/databases.js';
import { ServiceError } from '../../domain/errors.js';
import { newItemId } from '../../domain/ids.js';
import type { AddedUse } from '../../domain/quotas.js';
import { createSharedCalls } from '../../domain/shared-calls.js';
import type { Access } from '../collections.js';
import { BY_ID } from '../queries.js';
import { isDuplicateKey } from '../transactions.js';
import { type ItemRecord, VERSION_FIELDS } from './items.js';

/** The fields of an item that an ingest request or a connector provides. */
export type NewItem = Pick<
  ItemRecord,
  | 'org'
  | 'database_id'
  | 'database'
  | 'collection'
  | 'batch'
  | 'group'
  | 'id'
  | 'type'
  | 'title'
  | 'source'
  | 'metadata'
  | 'additional_metadata'
  | 'content_hash'
>;

/**
 * @param existing the item that it replaces
 * @returns the record of a queued item
 */
export function queuedItem(item: NewItem, existing: ExistingItem | undefined, now: Date): ItemRecord {
  return {
    _id: existing?._id ?? newItemId(),
    version: (existing?.version ?? 0) + 1,
    ...item,
    served_version: existing?.served_version ?? null,
    bytes: item.source.kind === 'file' ? item.source.size : Buffer.byteLength(item.source.text),
    indexing_status: 'queued',
    error_code: null,
    error_message: null,
    check_at: now,
    created_at: existing?.created_at ?? now,
    updated_at: now,
  };
}

/** The fields of stored items that an ingest compares with. */
const COMPARED = [
  'org',
  'id',
  'version',
  'served_version',
  'indexing_status',
  'content_hash',
  'bytes',
  'created_at',
] as const;
export type ExistingItem = Pick<ItemRecord, '_id' | (typeof COMPARED)[number]> & { source: { file_id?: string } };

/** @returns the files of replaced versions that nobody can read: the file of a served version stays until it is not served */
export function unservedFiles(replaced: readonly ExistingItem[]): string[] {
  return replaced.flatMap(({ version, served_version, source }) =>
    version === served_version ? [] : (source.file_id ?? []),
  );
}

/** @returns what queuing these items adds to the use of their organisation; a smaller replacement adds nothing.
 * Both versions are stored while the newer is in progress; only that one counts */
export function addedUse(records: readonly ItemRecord[], existing: ReadonlyMap<string, ExistingItem>): AddedUse {
  const use = { items: 0, stored_bytes: 0 };
  for (const { id, bytes } of records) {
    const replaced = existing.get(id);
    if (!replaced) use.items += 1;
    use.stored_bytes += bytes - (replaced?.bytes ?? 0);
  }
  return use;
}

export type ItemQueue = ReturnType<typeof createItemQueue>;

/** Adds and replaces items for an ingest. Belongs to the transaction of the request or of the sync. */
export function createItemQueue({ items, removedItems }: Access<'items' | 'removedItems'>) {
  const findInCollection = (database: OwnedDatabase, collection: string, ids: readonly string[]) =>
    items
      .forOrg(database.org)
      .find({ database_id: database._id, collection, id: { $in: [...ids] } })
      .project<ExistingItem>(Object.fromEntries([...COMPARED, 'source.file_id'].map((field) => [field, 1])))
      .toArray();

  /** Many clients send one item in each request. */
  const findOne = createSharedCalls<{ database: OwnedDatabase; collection: string; id: string }, ExistingItem[]>({
    keyOf: ({ database, collection }) => JSON.stringify([database._id, collection]),
    async call(wanted) {
      const { database, collection } = wanted[0]!;
      const found = await findInCollection(database, collection, [...new Set(wanted.map(({ id }) => id))]);
      return wanted.map(({ id }) => found.filter((item) => item.id === id));
    },
  });

  return {
    /** @returns the items of the collection that have one of these ids */
    findExisting: (database: OwnedDatabase, collection: string, ids: readonly string[]): Promise<ExistingItem[]> =>
      ids.length === 1 ? findOne({ database, collection, id: ids[0]! }) : findInCollection(database, collection, ids),

    /**
     * Stores the items of a request: version 1 is inserted, a later version replaces its predecessor,
     * whose content stays in `served` if it is complete. A new item whose id
     * belonged to a deleted item continues with the key and the versions of the deleted item.
     * @param records of one collection
     * @returns the stored records
     * @throws ServiceError SOURCE_ALREADY_EXISTS when another request has added or replaced one of the items
     */
    async add(records: readonly ItemRecord[], tx: ClientSession): Promise<ItemRecord[]> {
      const added = records.filter((record) => record.version === 1);
      const replaced = records.filter((record) => record.version > 1);
      try {
        const inserted = added.length === 0 ? [] : await continueRemoved(added, tx);
        if (inserted.length > 0) await items.forOrg(inserted[0]!.org).insertMany(inserted, { session: tx });
        if (replaced.length > 0) await replace(replaced, tx);
        return [...inserted, ...replaced];
      } catch (error) {
        if (isDuplicateKey(error)) {
          throw new ServiceError(
            'SOURCE_ALREADY_EXISTS',
            'Another request added an item with one of these ids at the same time.',
          );
        }
        throw error;
      }
    },

    /**
     * Makes the transaction of an ingest that skips these items conflict with any change to them.
     * @throws ServiceError SOURCE_ALREADY_EXISTS when one was changed since it was read
     */
    async confirmUnchanged(found: readonly ExistingItem[], now: Date, tx: ClientSession): Promise<void> {
      if (found.length === 0) return;
      const matched = await items.forOrg(found[0]!.org).updateEach(
        found.map(({ _id, version, content_hash, indexing_status }) => ({
          filter: { _id, version, content_hash, indexing_status },
          ...BY_ID,
          update: { $set: { updated_at: now } },
        })),
        { session: tx },
      );
      if (matched !== found.length) throw changedConcurrently();
    },
  };

  async function replace(records: readonly ItemRecord[], tx: ClientSession): Promise<void> {
    const matched = await items.forOrg(records[0]!.org).updateEach(
      records.map(({ _id, ...replacement }) => ({
        // Whether the predecessor is served decides whether its file stays.
        filter: { _id, version: replacement.version - 1, served_version: replacement.served_version },
        ...BY_ID,
        update: [{ $replaceWith: { $mergeObjects: [{ $literal: replacement }, KEPT] } }],
      })),
      { session: tx },
    );
    if (matched !== records.length) throw changedConcurrently();
  }

  /** Gives items whose ids belonged to deleted items the keys and next versions of those. */
  async function continueRemoved(added: readonly ItemRecord[], tx: ClientSession): Promise<ItemRecord[]> {
    const { org, database_id, collection } = added[0]!;
    const ids = added.map(({ id }) => id);
    const found = await removedItems
      .forOrg(org)
      .find({ database_id, collection, id: { $in: ids } }, { session: tx })
      .toArray();
    const removedById = new Map(found.map((removed) => [removed.id, removed]));
    return added.map((record) => {
      const removed = removedById.get(record.id);
      return removed ? { ...record, _id: removed._id, version: removed.version + 1 } : record;
    });
  }
}

/** What a replacement keeps of the record before: the served version, and the changes of its metadata. */
const KEPT = {
  _id: '$_id',
  served: {
    $cond: [
      { $eq: ['$served_version', '$version'] },
      Object.fromEntries(VERSION_FIELDS.map((field) => [field, `$${field}`])),
      '$served',
    ],
  },
  rows_due: '$rows_due',
  rows_revision: '$rows_revision',
};

function changedConcurrently(): ServiceError {
  return new ServiceError('SOURCE_ALREADY_EXISTS', 'Another request changed one of these items at the same time.');
}
