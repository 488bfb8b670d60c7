import { type Db, type Document, MongoServerError } from 'mongodb';

/** An update of a command. */
export interface Update {
  /** The filter. */
  q: Document;
  u: Document | Document[];
  /** Updates all documents that match. Otherwise at most one. */
  multi?: boolean;
  hint?: Document;
}

/**
 * Sends many updates as one command. The driver's `bulkWrite` serializes each update a second time to learn its size,
 * which costs as much as the rest of the call. The updates of one call must be small: 16 MiB together.
 */
export function createBulkUpdate(db: Db, update: string) {
  const { w, journal: j } = db.writeConcern ?? {};
  const writeConcern = { ...(w === undefined ? {} : { w }), ...(j === undefined ? {} : { j }) };

  /** @returns the number of documents that matched. @throws MongoError when one could not be written; others may be */
  return async (updates: readonly Update[]): Promise<number> => {
    const command = { update, updates, ordered: false, writeConcern };
    const { n, writeErrors } = await db.command(command, { ignoreUndefined: true });
    if (writeErrors) throw new MongoServerError(writeErrors[0]);
    return n;
  };
}
