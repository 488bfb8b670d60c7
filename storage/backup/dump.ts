import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import {
  type Document,
  type Filter,
  type FindOptions,
  MongoServerError,
  type ReadPreferenceLike,
  type Timestamp,
} from 'mongodb';
import { sealedWith } from '../../domain/sealing.js';
import type { Collections } from '../collections.js';
import { eachSealed } from '../sealed-fields.js';
import { deletionLine, documentLine, endLine, filePartLine, headerLine } from './archive.js';
import { idKey, type Touched, watchChanges } from './changes.js';

export interface DumpOptions {
  readPreference: ReadPreferenceLike;
  /** Reads a file of the bucket; null when files are in MongoDB. */
  bucket: { read(fileId: string): Promise<AsyncIterable<Buffer> | null> } | null;
  /** Called with the name of each collection before it is read, and with the number of documents to read again. */
  onProgress?: (step: { collection: string } | { changed: number }) => void;
}

/**
 * What a backup leaves out: counts of seconds, the marks of backups, and the signs of processes and of the reconciler, which
 * would count as lost and as late after a restore.
 */
const LEFT_OUT = ['rate_limits', 'backups', 'processes', 'sweeps'];

/** Documents that are read again in one query. */
const PAGE = 500;
/** So many changed documents are read again before the dump goes on, which bounds memory. */
const MANY_CHANGES = 50_000;
/** So few are read in one snapshot, which takes less time than MongoDB keeps a snapshot. */
const FEW_CHANGES = 2_000;
/** Rounds of reading changed documents again before the writers are too fast. */
const MAX_ROUNDS = 50;
/** The pause before the last round is repeated. */
const AGAIN_MS = 200;
/** MongoDB's codes for a snapshot that it has no longer. */
const SNAPSHOT_GONE = [239, 246];

/** Documents keep the types of their numbers. */
const EXACT = { promoteValues: false } as const;

/**
 * The lines of a backup that shows one point in time, while the service writes. Every collection is read once, in any order;
 * a change stream names the documents that change meanwhile. Those are read again, and what changed during that, until few
 * are left. These last are read in one snapshot: all documents are then as they were at its time.
 * @throws Error when writers are faster than the backup, or MongoDB's log does not reach back far enough
 */
export async function* dump(collections: Collections, options: DumpOptions): AsyncGenerator<string> {
  const { db, mongoClient } = collections;
  const { readPreference, bucket, onProgress } = options;
  const sealingKeys = new Set<string>();
  let lines = 0;
  let lostFiles = 0;
  let rounds = 0;
  const counted = (line: string) => {
    lines += 1;
    return line;
  };

  const marks = db.collection<Document & { _id: string }>('backups');
  const run = `bak_${randomUUID()}`;
  // Reads see at least the changes that the stream has shown, also at a member that is behind.
  const session = mongoClient.startSession({ causalConsistency: true });
  await marks.insertOne({ _id: run, at: new Date() }, { session });
  const watch = watchChanges(db, session.operationTime!, LEFT_OUT);
  try {
    yield counted(headerLine({ started_at: new Date().toISOString(), database: db.databaseName }));
    const names = (await db.listCollections({ type: 'collection' }, { nameOnly: true }).toArray()).map(
      ({ name }) => name,
    );
    for (const name of names.filter((each) => !LEFT_OUT.includes(each) && !each.startsWith('system.')).sort()) {
      onProgress?.({ collection: name });
      const found = db.collection(name).find({}, { ...EXACT, session, readPreference, readConcern: 'majority' });
      for await (const document of found) {
        for await (const line of linesOf(name, document)) yield counted(line);
        if (watch.size() >= MANY_CHANGES) {
          for await (const line of readAgain(watch.take(), majority())) yield counted(line);
        }
      }
    }
    for (let round = 0; ; round += 1) {
      if (round === MAX_ROUNDS)
        throw new Error('The service writes faster than the backup reads. Repeat it at a quieter time.');
      if (watch.size() > FEW_CHANGES) {
        onProgress?.({ changed: watch.size() });
        for await (const line of readAgain(watch.take(), majority())) yield counted(line);
        continue;
      }
      const last = yield* lastRound();
      if (last === null) {
        await wait(AGAIN_MS);
        continue;
      }
      yield endLine({ point: last.toISOString(), sealing_keys: [...sealingKeys].sort(), lines });
      return;
    }
  } finally {
    await watch.close();
    await marks.deleteMany({ _id: { $gte: run, $lt: `${run}\uffff` } });
    await session.endSession();
  }

  function majority(): FindOptions {
    session.advanceOperationTime(watch.time());
    return { session, readPreference, readConcern: 'majority' };
  }

  /**
   * Reads the changed documents as they were at one time.
   * @returns the time; null when it is too long ago, or a file has gone since
   */
  async function* lastRound(): AsyncGenerator<string, Date | null> {
    const snapshot = mongoClient.startSession({ snapshot: true });
    const mark = `${run}/${++rounds}`;
    let touched: Touched = new Map();
    try {
      // The first read of the session decides its time. All earlier reads saw an earlier time, so it is the primary's.
      await marks.findOne({ _id: run }, { session: snapshot, readPreference: 'primary' });
      // Public in the driver's code, and missing in its types.
      const { snapshotTime: time } = snapshot as unknown as { snapshotTime: Timestamp };
      await watch.reach(mark, () => marks.insertOne({ _id: mark, at: new Date() }));
      touched = watch.take();
      const lostBefore = lostFiles;
      for await (const line of readAgain(touched, { session: snapshot, readPreference: 'primary' }))
        yield counted(line);
      if (lostFiles === lostBefore) return new Date(time.getHighBitsUnsigned() * 1000);
      // The document that names the file has changed since, too.
      watch.putBack(touched);
      return null;
    } catch (error) {
      if (!(error instanceof MongoServerError && SNAPSHOT_GONE.includes(Number(error.code)))) throw error;
      watch.putBack(touched);
      return null;
    } finally {
      await snapshot.endSession();
    }
  }

  /** Documents that were deleted become deletions. */
  async function* readAgain(touched: Touched, read: FindOptions): AsyncGenerator<string> {
    for (const [name, ids] of touched) {
      const all = [...ids.entries()];
      for (let from = 0; from < all.length; from += PAGE) {
        const page = new Map(all.slice(from, from + PAGE));
        const filter = { _id: { $in: [...page.values()] } } as Filter<Document>;
        for await (const document of db.collection(name).find(filter, { ...EXACT, ...read })) {
          page.delete(idKey(document._id));
          yield* linesOf(name, document);
        }
        for (const id of page.values()) yield deletionLine(name, id);
      }
    }
  }

  /** The files of a document come before it. */
  async function* linesOf(name: string, document: Document): AsyncGenerator<string> {
    eachSealed(name, document, (sealed) => sealingKeys.add(sealedWith(sealed.buffer)));
    if (bucket) {
      for (const file of filesOf(name, document)) {
        const content = await bucket.read(file);
        if (content) yield* filePartLines(file, document.org as string, content);
        else if (!(await isInGridFs(file))) lostFiles += 1;
      }
    }
    yield documentLine(name, document);
  }

  /** Files from before the bucket was configured. They are documents, and are read as such. */
  async function isInGridFs(file: string): Promise<boolean> {
    return (await db.collection('files.files').findOne({ filename: file }, { projection: { _id: 1 } })) !== null;
  }
}

async function* filePartLines(file: string, org: string, content: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const data of content) yield filePartLine({ file, org, data, last: false });
  yield filePartLine({ file, org, data: Buffer.alloc(0), last: true });
}

/** Ids of the files in the bucket that a document owns. */
function filesOf(collection: string, document: Document): string[] {
  if (collection === 'uploads') return [document._id as string];
  if (collection !== 'items') return [];
  return [document.source?.file_id, document.served?.source?.file_id].filter((id) => typeof id === 'string');
}
