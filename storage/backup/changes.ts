import { BSON, type ChangeStream, type Db, type Document, type Timestamp } from 'mongodb';

/** Documents that have changed, by collection; each id once. */
export type Touched = Map<string, Map<string, unknown>>;

/** The same for equal ids, whatever the type of their numbers. */
export function idKey(id: unknown): string {
  return BSON.EJSON.stringify({ id }, { relaxed: true });
}

/** Ids in memory. The reader waits beyond them; MongoDB's log keeps the rest. */
const MAX_TOUCHED = 500_000;

/**
 * Collects which documents change from now on. Only ids are read, so a change costs little.
 * @param from the time to start at
 * @param ignored collections whose changes do not count
 */
export function watchChanges(db: Db, from: Timestamp, ignored: readonly string[]) {
  const stream: ChangeStream = db.watch([{ $project: { operationType: 1, ns: 1, documentKey: 1, clusterTime: 1 } }], {
    startAtOperationTime: from,
    batchSize: 1_000,
    maxAwaitTimeMS: 200,
  });
  let touched: Touched = new Map();
  let size = 0;
  let time = from;
  let closed = false;
  let failure: Error | undefined;
  const markers = new Map<unknown, () => void>();
  let roomAgain: (() => void) | undefined;

  const ended = follow().catch((error: Error) => {
    if (!closed) failure = error;
    for (const seen of markers.values()) seen();
  });

  async function follow(): Promise<void> {
    while (!closed) {
      const change = (await stream.tryNext()) as Document | null;
      if (!change) continue;
      if (change.operationType === 'invalidate' || change.operationType === 'dropDatabase') {
        throw new Error('the database was dropped');
      }
      const collection = change.ns?.coll as string | undefined;
      if (collection === undefined || change.documentKey === undefined) continue;
      const id = change.documentKey._id;
      time = change.clusterTime as Timestamp;
      markers.get(id)?.();
      if (ignored.includes(collection)) continue;
      add(collection, id);
      if (size >= MAX_TOUCHED)
        await new Promise<void>((resolve) => {
          roomAgain = resolve;
        });
    }
  }

  function add(collection: string, id: unknown): void {
    const ids = touched.get(collection) ?? new Map<string, unknown>();
    touched.set(collection, ids);
    const before = ids.size;
    ids.set(idKey(id), id);
    size += ids.size - before;
  }

  return {
    size: () => size,
    /** The time of the last change that was read. */
    time: () => time,

    /** Takes what has changed so far. @throws Error when changes were lost */
    take(): Touched {
      if (failure) throw new Error(`The changes cannot be followed: ${failure.message}`, { cause: failure });
      const taken = touched;
      touched = new Map();
      size = 0;
      roomAgain?.();
      return taken;
    },

    /** Puts back what was taken, to take it again. */
    putBack(taken: Touched): void {
      for (const [collection, ids] of taken) for (const id of ids.values()) add(collection, id);
    },

    /**
     * Resolves when the change to the document with this id was read, and with it all earlier changes.
     * @param write makes the change
     */
    async reach(id: unknown, write: () => Promise<unknown>): Promise<void> {
      const seen = new Promise<void>((resolve) => markers.set(id, resolve));
      await write();
      if (!failure) await seen;
      markers.delete(id);
    },

    async close(): Promise<void> {
      closed = true;
      roomAgain?.();
      await stream.close();
      await ended;
    },
  };
}
