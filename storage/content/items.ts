import type { ClientSession, Collection } from 'mongodb';
import type { ItemType } from '../../domain/content/search.js';
import type { ItemOutcome, ItemRef } from '../../domain/content/workflow-contract.js';
import { ServiceError } from '../../domain/errors.js';
import type { FileKind } from '../../domain/extraction.js';
import { newItemId } from '../../domain/ids.js';
import type { IndexingStatus } from '../../domain/states.js';
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
  /** Grows with each replacement; a workflow works on exactly one. */
  version: number;
  title: string | null;
  source: ItemSource;
  /** Size of the source. */
  bytes: number;
  /** Tells an ingest that would change nothing; absent when that cannot be told. */
  content_hash?: string | undefined;
  metadata: Record<string, unknown>;
  additional_metadata: Record<string, unknown>;
  /** The ingest request it came with. */
  batch: string;
  indexing_status: IndexingStatus;
  error_code: string | null;
  error_message: string | null;
  /** Names the changes that its index rows may have yet to follow. */
  rows_due?: string[];
  /** Counts these changes, and how often rows have been written for them. */
  rows_revision?: number;
  /** From when on the sweep may wonder whether its workflow exists, or who writes its index rows. */
  check_at: Date;
  created_at: Date;
  updated_at: Date;
}

/** What a request or a connector says of an item. */
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

/** An item as it is queued. @param before the version that it replaces */
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

/** What an ingest has to know of the items it replaces. */
export interface ExistingItem {
  _id: string;
  id: string;
  version: number;
  indexing_status: IndexingStatus;
  content_hash?: string;
  created_at: Date;
  source: { file_id?: string };
}

const UNDER_WAY: IndexingStatus[] = ['queued', 'processing', 'graph_creation'];

/** Items and their indexing status. */
export function createItems({
  items,
  removedItems,
}: {
  items: Collection<ItemRecord>;
  removedItems: Collection<RemovedItemRecord>;
}) {
  return {
    /** Which of these ids are taken in the database. */
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
     * Writes all items of a request or none. Replacements are told from new ones by their version; a new one whose id
     * was deleted before goes on with the key and the versions of its predecessor.
     * @throws ServiceError SOURCE_ALREADY_EXISTS when another request was quicker with an id
     */
    async queue(records: readonly ItemRecord[], tx: ClientSession): Promise<void> {
      const added = records.filter((record) => record.version === 1);
      const replaced = records.filter((record) => record.version > 1);
      try {
        if (added.length > 0) await items.insertMany(await afterRemoved(added, tx), { session: tx });
        for (const record of replaced) await replace(record, tx);
      } catch (error) {
        if (isDuplicateKey(error)) {
          throw new ServiceError('SOURCE_ALREADY_EXISTS', 'An item with one of these ids was added at the same time.');
        }
        throw error;
      }
    },

    /** @returns null when the item is gone or this version has been replaced */
    getByRef(ref: ItemRef): Promise<ItemRecord | null> {
      return items.findOne({ _id: ref.item, version: ref.version });
    },

    /** @returns false when this version is no longer the item's, or has ended */
    async setStatus(ref: ItemRef, status: IndexingStatus): Promise<boolean> {
      const result = await items.updateOne(
        { _id: ref.item, version: ref.version, indexing_status: { $in: UNDER_WAY } },
        { $set: { indexing_status: status, error_code: null, error_message: null, updated_at: new Date() } },
      );
      return result.matchedCount === 1;
    },

    /** An error that is being retried: visible while it lasts, gone with the next status. */
    async setTransientError(ref: ItemRef, code: string, message: string): Promise<void> {
      await items.updateOne(
        { _id: ref.item, version: ref.version, indexing_status: { $in: UNDER_WAY } },
        { $set: { error_code: code, error_message: message, updated_at: new Date() } },
      );
    },

    async setTitle(ref: ItemRef, title: string): Promise<void> {
      await items.updateOne({ _id: ref.item, version: ref.version, title: null }, { $set: { title } });
    },

    /** Part of the transaction that also writes the delivery. @returns the item as it ended, or null as in `get` */
    finish(ref: ItemRef, outcome: ItemOutcome, now: Date, session: ClientSession): Promise<ItemRecord | null> {
      return items.findOneAndUpdate(
        { _id: ref.item, version: ref.version, indexing_status: { $in: UNDER_WAY } },
        {
          $set: {
            indexing_status: outcome.status,
            error_code: outcome.error_code ?? null,
            error_message: outcome.error_message ?? null,
            updated_at: now,
          },
        },
        { session, returnDocument: 'after' },
      );
    },

    /**
     * Part of the transaction of an ingest that changes nothing about these items: it fails when they are no longer
     * what they were found to be.
     * @throws ServiceError SOURCE_ALREADY_EXISTS
     */
    async confirmUnchanged(found: readonly ExistingItem[], now: Date, session: ClientSession): Promise<void> {
      if (found.length === 0) return;
      const { matchedCount } = await items.bulkWrite(
        found.map(({ _id, version, content_hash, indexing_status }) => ({
          updateOne: {
            filter: { _id, version, content_hash, indexing_status },
            update: { $set: { updated_at: now } },
          },
        })),
        { session },
      );
      if (matchedCount !== found.length) throw changedMeanwhile();
    },

    /** An item that slipped into a database that is being deleted. */
    async discard(ref: ItemRef): Promise<void> {
      await items.deleteOne({ _id: ref.item, version: ref.version });
    },

    /** Items of a request that wait for their workflow, `after` a key for paging. */
    listQueued(org: string, batch: string, after: string, limit: number): Promise<ItemRecord[]> {
      return items
        .find({ org, batch, _id: { $gt: after }, indexing_status: 'queued' })
        .sort({ _id: 1 })
        .limit(limit)
        .project<ItemRecord>({ source: 0, metadata: 0, additional_metadata: 0 })
        .toArray();
    },

    /** Items under way that are due for a look, oldest first; they are not due again before `next`. */
    async takeStale(before: Date, next: Date, limit: number): Promise<ItemRecord[]> {
      const found = await items
        .find({ indexing_status: { $in: UNDER_WAY }, check_at: { $lt: before } })
        .sort({ check_at: 1 })
        .limit(limit)
        .project<ItemRecord>({ source: 0, metadata: 0, additional_metadata: 0 })
        .toArray();
      await items.updateMany({ _id: { $in: found.map((item) => item._id) } }, { $set: { check_at: next } });
      return found;
    },

    /** Whether a request's files have become items. */
    async anyOfBatch(batch: string): Promise<boolean> {
      return (await items.findOne({ batch }, { projection: { _id: 1 } })) !== null;
    },

    listByIds(databaseId: string, ids: readonly string[], collection?: string): Promise<ItemRecord[]> {
      return items
        .find({ database_id: databaseId, id: { $in: [...ids] }, ...(collection === undefined ? {} : { collection }) })
        .project<ItemRecord>({ source: 0, metadata: 0, additional_metadata: 0 })
        .toArray();
    },

    listByKeys(keys: readonly string[]): Promise<ItemRecord[]> {
      return items
        .find({ _id: { $in: [...keys] } })
        .project<ItemRecord>({ source: 0 })
        .toArray();
    },
  };

  async function replace(record: ItemRecord, session: ClientSession): Promise<void> {
    const { _id, ...fields } = record;
    const result = await items.replaceOne({ _id, version: record.version - 1 }, fields, { session });
    if (result.matchedCount !== 1) throw changedMeanwhile();
  }

  async function afterRemoved<T extends ItemRecord>(added: readonly T[], session: ClientSession): Promise<T[]> {
    const { database_id: databaseId } = added[0]!;
    const found = removedItems.find({ database_id: databaseId, id: { $in: added.map(({ id }) => id) } }, { session });
    const before = new Map((await found.toArray()).map((removed) => [removed.id, removed]));
    return added.map((record) => {
      const removed = before.get(record.id);
      return removed ? { ...record, _id: removed._id, version: removed.version + 1 } : record;
    });
  }
}

function changedMeanwhile(): ServiceError {
  return new ServiceError('SOURCE_ALREADY_EXISTS', 'An item of this request was changed at the same time.');
}
