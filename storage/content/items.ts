import type { ClientSession, Collection } from 'mongodb';
import type { ItemType } from '../../domain/content/search.js';
import type { ItemOutcome, ItemRef } from '../../domain/content/workflow-contract.js';
import { ServiceError } from '../../domain/errors.js';
import type { FileKind } from '../../domain/extraction.js';
import { newItemId } from '../../domain/ids.js';
import type { IndexingStatus } from '../../domain/states.js';
import { takeStale } from '../queries.js';
import { isDuplicateKey } from '../transactions.js';
import type { RemovedItemRecord } from './removed-items.js';

export type ItemSource =
  | { kind: 'file'; file_id: string; filename: string; file_kind: FileKind; mime_type: string; size: number }
  | { kind: 'text'; text: string };

export interface ItemRecord {
  _id: string;
  org: string;
  /** The database's internal id. */
  database_id: string;
  database: string;
  collection: string;
  /** The client's id, unique in the database. */
  id: string;
  type: ItemType;
  /** Incremented by each replacement; each version has its own workflow. */
  version: number;
  title: string | null;
  source: ItemSource;
  /** Size of the source, in bytes. */
  bytes: number;
  /** `contentHash`: an ingest with the same hash changes nothing. Absent when the item differs from what was ingested. */
  content_hash?: string | undefined;
  metadata: Record<string, unknown>;
  additional_metadata: Record<string, unknown>;
  /** `bat_…`: the ingest request or connector batch that added it. */
  batch: string;
  indexing_status: IndexingStatus;
  error_code: string | null;
  error_message: string | null;
  /** Ids of the changes that the item's index rows may not show yet. */
  rows_due?: string[];
  /** Counts these changes and the writes of rows. */
  rows_revision?: number;
  /** Time after which the reconciler checks the item's workflow and index rows. */
  check_at: Date;
  created_at: Date;
  updated_at: Date;
}

/** The fields of an item that an ingest request or a connector provides. */
export type NewItem = Pick<
  ItemRecord,
  | 'org'
  | 'database_id'
  | 'database'
  | 'collection'
  | 'batch'
  | 'id'
  | 'type'
  | 'title'
  | 'source'
  | 'metadata'
  | 'additional_metadata'
  | 'content_hash'
>;

/**
 * @param before the item that it replaces
 * @returns the record of a queued item
 */
export function queuedItem(item: NewItem, before: ExistingItem | undefined, now: Date): ItemRecord {
  return {
    _id: before?._id ?? newItemId(),
    version: (before?.version ?? 0) + 1,
    ...item,
    bytes: item.source.kind === 'file' ? item.source.size : Buffer.byteLength(item.source.text),
    indexing_status: 'queued',
    error_code: null,
    error_message: null,
    check_at: now,
    created_at: before?.created_at ?? now,
    updated_at: now,
  };
}

export type Items = ReturnType<typeof createItems>;

/** The fields of stored items that an ingest compares with. */
export interface ExistingItem {
  _id: string;
  id: string;
  version: number;
  indexing_status: IndexingStatus;
  content_hash?: string;
  created_at: Date;
  source: { file_id?: string };
}

const IN_PROGRESS: IndexingStatus[] = ['queued', 'processing', 'graph_creation'];

/** Projection: only what identifies an item and its state. */
export const WITHOUT_CONTENT = { source: 0, metadata: 0, additional_metadata: 0 } as const;

/** Items and their indexing status. Every change of status is one conditional update. */
export function createItems({
  items,
  removedItems,
}: {
  items: Collection<ItemRecord>;
  removedItems: Collection<RemovedItemRecord>;
}) {
  return {
    /** @returns the items of the database that have one of these ids */
    async findExisting(databaseId: string, ids: readonly string[]): Promise<ExistingItem[]> {
      return items
        .find({ database_id: databaseId, id: { $in: [...ids] } })
        .project<ExistingItem>({
          id: 1,
          version: 1,
          indexing_status: 1,
          content_hash: 1,
          created_at: 1,
          'source.file_id': 1,
        })
        .toArray();
    },

    /**
     * Stores the items of a request: version 1 is inserted, a later version replaces its predecessor. A new item whose id
     * belonged to a deleted item continues with the key and the versions of the deleted item.
     * @throws ServiceError SOURCE_ALREADY_EXISTS when another request has added or replaced one of the items
     */
    async queue(records: readonly ItemRecord[], tx: ClientSession): Promise<void> {
      const added = records.filter((record) => record.version === 1);
      const replaced = records.filter((record) => record.version > 1);
      try {
        if (added.length > 0) await items.insertMany(await continueRemoved(added, tx), { session: tx });
        for (const record of replaced) await replace(record, tx);
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

    /** @returns null when the item was deleted or this version was replaced */
    getByRef(ref: ItemRef): Promise<ItemRecord | null> {
      return items.findOne({ _id: ref.item, version: ref.version });
    },

    /** Also clears the error. @returns false when this version was deleted, replaced, or has finished */
    async setStatus(ref: ItemRef, status: IndexingStatus): Promise<boolean> {
      const result = await items.updateOne(
        { _id: ref.item, version: ref.version, indexing_status: { $in: IN_PROGRESS } },
        { $set: { indexing_status: status, error_code: null, error_message: null, updated_at: new Date() } },
      );
      return result.matchedCount === 1;
    },

    /** Shows an error that is being retried; the next status clears it. */
    async setTransientError(ref: ItemRef, code: string, message: string): Promise<void> {
      await items.updateOne(
        { _id: ref.item, version: ref.version, indexing_status: { $in: IN_PROGRESS } },
        { $set: { error_code: code, error_message: message, updated_at: new Date() } },
      );
    },

    /** Does nothing when the item has a title. */
    async setTitle(ref: ItemRef, title: string): Promise<void> {
      await items.updateOne({ _id: ref.item, version: ref.version, title: null }, { $set: { title } });
    },

    /**
     * Sets the final status, in the transaction that stores the delivery.
     * @returns the finished item, or null when this version was deleted, replaced, or had finished before
     */
    finish(ref: ItemRef, outcome: ItemOutcome, now: Date, tx: ClientSession): Promise<ItemRecord | null> {
      return items.findOneAndUpdate(
        { _id: ref.item, version: ref.version, indexing_status: { $in: IN_PROGRESS } },
        {
          $set: {
            indexing_status: outcome.status,
            error_code: outcome.error_code ?? null,
            error_message: outcome.error_message ?? null,
            updated_at: now,
          },
        },
        { session: tx, returnDocument: 'after' },
      );
    },

    /**
     * Makes the transaction of an ingest that skips these items conflict with any change to them.
     * @throws ServiceError SOURCE_ALREADY_EXISTS when one was changed since it was read
     */
    async confirmUnchanged(found: readonly ExistingItem[], now: Date, tx: ClientSession): Promise<void> {
      if (found.length === 0) return;
      const { matchedCount } = await items.bulkWrite(
        found.map(({ _id, version, content_hash, indexing_status }) => ({
          updateOne: {
            filter: { _id, version, content_hash, indexing_status },
            update: { $set: { updated_at: now } },
          },
        })),
        { session: tx },
      );
      if (matchedCount !== found.length) throw changedConcurrently();
    },

    /** Removes an item that was added to a database while the database was being deleted. */
    async discard(ref: ItemRef): Promise<void> {
      await items.deleteOne({ _id: ref.item, version: ref.version });
    },

    /**
     * @param after the last key of the previous page, or `''`
     * @returns one page of the queued items of a request, by key, without their content
     */
    listQueued(org: string, batch: string, after: string, limit: number): Promise<ItemRecord[]> {
      return items
        .find({ org, batch, _id: { $gt: after }, indexing_status: 'queued' })
        .sort({ _id: 1 })
        .limit(limit)
        .project<ItemRecord>(WITHOUT_CONTENT)
        .toArray();
    },

    /** Items in progress that are due for a check, without their content; they are not due again before `next`. */
    takeStale(before: Date, next: Date, limit: number): Promise<ItemRecord[]> {
      const inProgress = { indexing_status: { $in: IN_PROGRESS } };
      return takeStale(items, inProgress, { before, next, limit }, { projection: WITHOUT_CONTENT });
    },

    /** Whether a request has stored items. */
    async anyOfBatch(batch: string): Promise<boolean> {
      return (await items.findOne({ batch }, { projection: { _id: 1 } })) !== null;
    },

    /** @returns items by the client's ids, without their content */
    listByIds(databaseId: string, ids: readonly string[], collection?: string): Promise<ItemRecord[]> {
      return items
        .find({ database_id: databaseId, id: { $in: [...ids] }, ...(collection === undefined ? {} : { collection }) })
        .project<ItemRecord>(WITHOUT_CONTENT)
        .toArray();
    },

    /** @returns items by key, without their source */
    listByKeys(keys: readonly string[]): Promise<ItemRecord[]> {
      return items
        .find({ _id: { $in: [...keys] } })
        .project<ItemRecord>({ source: 0 })
        .toArray();
    },
  };

  async function replace(record: ItemRecord, tx: ClientSession): Promise<void> {
    const { _id, ...fields } = record;
    const result = await items.replaceOne({ _id, version: record.version - 1 }, fields, { session: tx });
    if (result.matchedCount !== 1) throw changedConcurrently();
  }

  /** Gives items whose ids belonged to deleted items the keys and next versions of those. */
  async function continueRemoved(added: readonly ItemRecord[], tx: ClientSession): Promise<ItemRecord[]> {
    const { database_id: databaseId } = added[0]!;
    const ids = added.map(({ id }) => id);
    const found = await removedItems.find({ database_id: databaseId, id: { $in: ids } }, { session: tx }).toArray();
    const removedById = new Map(found.map((removed) => [removed.id, removed]));
    return added.map((record) => {
      const removed = removedById.get(record.id);
      return removed ? { ...record, _id: removed._id, version: removed.version + 1 } : record;
    });
  }
}

function changedConcurrently(): ServiceError {
  return new ServiceError('SOURCE_ALREADY_EXISTS', 'Another request changed one of these items at the same time.');
}
