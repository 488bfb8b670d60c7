import type { ClientSession, MongoClient } from 'mongodb';

/** MongoDB's code for a violated unique index. */
const DUPLICATE_KEY = 11000;

/** Whether a write failed because of a unique index. */
export function isDuplicateKey(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === DUPLICATE_KEY;
}

/**
 * Runs writes in one transaction: all of them happen, or none.
 * @param write may run several times, because MongoDB repeats a transaction that conflicts with another
 * @param tx a running transaction to join; without it, a new transaction is started and committed
 */
export function inTransaction<T>(
  mongoClient: MongoClient,
  write: (tx: ClientSession) => Promise<T>,
  tx?: ClientSession,
): Promise<T> {
  if (tx) return write(tx);
  return mongoClient.withSession((session) => session.withTransaction(() => write(session)));
}
