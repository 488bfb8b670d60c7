import type { Db, Document } from 'mongodb';

/** A change of the database that a release needs. */
export interface Migration {
  /** The next number. A number is never used again, and a migration that was released never changes. */
  number: number;
  /** What it does, for people. */
  name: string;
  /**
   * `expand` adds what new code needs and old code tolerates; it runs before the new code. `contract` removes what only old
   * code needs; it runs when no old process is left, and older releases then refuse to start.
   */
  phase: Phase;
  /** May begin again at any time: a run that was killed is continued by another process at the last saved position. */
  run(step: MigrationStep): Promise<void>;
}

export type Phase = 'expand' | 'contract';

export interface MigrationStep {
  db: Db;
  /** What the last run saved; undefined before the first save. */
  position: unknown;
  /**
   * Stores how far the migration is.
   * @throws Error when another process has taken over
   */
  save(position: unknown): Promise<void>;
}

/** Documents that one step of a backfill changes. */
const BATCH = 1_000;

/**
 * Changes the documents of a collection in the order of their ids, and saves the position after each batch.
 * @param filter the documents that still need the change; those that it finds must not match afterwards
 * @param change an update; it may run twice on a document
 */
export async function inBatches(
  { db, position, save }: MigrationStep,
  { collection, filter, change, batch = BATCH }: BatchedChange,
): Promise<void> {
  const records = db.collection(collection);
  let last = position as { collection: string; after: unknown } | undefined;
  for (;;) {
    const after = last?.collection === collection ? { _id: { $gt: last.after } } : {};
    const found = await records
      .find({ $and: [after, filter] } as Document)
      .sort({ _id: 1 })
      .limit(batch)
      .project({ _id: 1 })
      .toArray();
    if (found.length === 0) return;
    const ids = found.map(({ _id }) => _id);
    await records.updateMany({ _id: { $in: ids }, ...filter }, change);
    last = { collection, after: ids.at(-1) };
    await save(last);
  }
}

export interface BatchedChange {
  collection: string;
  filter: Document;
  change: Document | Document[];
  batch?: number;
}
