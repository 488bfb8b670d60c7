import { Readable } from 'node:stream';
import type { AnyBulkWriteOperation, Document, Filter } from 'mongodb';
import { UNFINISHED_REBUILD_STATUSES } from '../../domain/content/states.js';
import type { FileStore } from '../../domain/file-store.js';
import type { Collections } from '../collections.js';
import { ensureIndexes } from '../indexes.js';
import { type BackupEntry, type DocumentEntry, type FilePart, readEntries } from './archive.js';

/** Documents that are written together. */
const BATCH = 500;
/** Their size in text, about, at most. */
const BATCH_BYTES = 8 * 1024 * 1024;

/** What was restored. */
export interface Restored {
  /** Lines of documents, by collection; a document that changed during the backup has several. */
  documents: Record<string, number>;
  files: number;
}

/**
 * @returns a collection that has documents, or null when the database is empty: a restore must not mix two histories
 */
export async function findContent({ db }: Pick<Collections, 'db'>): Promise<string | null> {
  for (const { name } of await db.listCollections({ type: 'collection' }, { nameOnly: true }).toArray()) {
    if (name.startsWith('system.') || name === 'backups') continue;
    if (await db.collection(name).findOne({}, { projection: { _id: 1 } })) return name;
  }
  return null;
}

/**
 * Writes a backup into an empty database, then creates the indexes. No process may use the database
 * meanwhile. A restore that fails leaves a database that must be dropped.
 * @param path of a backup that was checked
 */
export async function restore(path: string, collections: Collections, files: FileStore): Promise<Restored> {
  const { db } = collections;
  // Indexes are created at the end: unique ones may not hold in between, and building them at once is faster.
  for (const { name } of await db.listCollections({ type: 'collection' }, { nameOnly: true }).toArray()) {
    if (!name.startsWith('system.')) await db.collection(name).drop();
  }
  const restored: Restored = { documents: {}, files: 0 };
  const entries = readEntries(path);
  let batch: DocumentEntry[] = [];
  const flush = async () => {
    if (batch.length === 0) return;
    const { collection } = batch[0]!;
    await db.collection(collection).bulkWrite(batch.map(writeOf), { ordered: true });
    restored.documents[collection] = (restored.documents[collection] ?? 0) + batch.length;
    batch = [];
  };
  let bytes = 0;
  for await (const entry of entries) {
    if ('file' in entry) {
      await restoreFile(entry, entries, files);
      restored.files += 1;
      continue;
    }
    const full = batch.length >= BATCH || bytes >= BATCH_BYTES;
    if (full || batch[0]?.collection !== entry.collection) {
      await flush();
      bytes = 0;
    }
    batch.push(entry);
    bytes += sizeOf(entry);
  }
  await flush();
  await prepare(collections);
  await ensureIndexes(db);
  return restored;
}

/** The last of several lines about a document holds. */
function writeOf({ id, document }: DocumentEntry): AnyBulkWriteOperation {
  const filter = { _id: id } as Filter<Document>;
  if (document === null) return { deleteOne: { filter } };
  return { replaceOne: { filter, replacement: document, upsert: true } };
}

/** Large documents are large because of binary values: those of files, and vectors. */
function sizeOf({ document }: DocumentEntry): number {
  return document?.data?.buffer?.length ?? 10_000;
}

/** Reads the parts of a file from the entries. */
async function restoreFile(first: FilePart, entries: AsyncIterator<BackupEntry>, files: FileStore): Promise<void> {
  const { file, org } = first;
  async function* content(): AsyncGenerator<Buffer> {
    let part = first;
    for (;;) {
      yield part.data;
      if (part.last) return;
      part = (await entries.next()).value as FilePart;
    }
  }
  // The file of a document that changed during the backup is there twice.
  await files.remove(file);
  const batch = `restore/${file}`;
  await files.write(file, { org, batch }, Readable.from(content(), { objectMode: false }));
  await files.claim({ org, batch });
}

/**
 * Prepares the records for an empty Temporal and an empty search index. The reconciler starts the workflows of unfinished
 * records, so it must check them at once and not when they were due for its next check.
 */
async function prepare({ db, connectors, databases, indexRebuilds, now: clock }: Collections): Promise<void> {
  const now = clock();
  for (const { name } of await db.listCollections({ type: 'collection' }, { nameOnly: true }).toArray()) {
    if (name.startsWith('system.')) continue;
    await db.collection(name).updateMany({ check_at: { $gt: now } }, { $set: { check_at: now } });
  }
  // Their schedules are created again.
  await connectors.updateMany({}, { $set: { pending: true }, $unset: { check_at: '' } });
  // The index that a rebuild was writing is not there.
  await indexRebuilds.updateMany(
    { status: { $in: UNFINISHED_REBUILD_STATUSES } },
    { $set: { status: 'cancelled', error: 'The rebuild was not part of the backup.', updated_at: now } },
  );
  await databases.updateMany({}, { $unset: { next_index: '', retired_indexes: '' } });
}
