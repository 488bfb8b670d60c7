import type { AnyBulkWriteOperation, Db, Document } from 'mongodb';
import type { MigrationStep } from './migration.js';

type Stored = Document & { _id: string };

/** Documents that are changed together. */
const BATCH = 500;

/** No organisation has this name. For remains whose owner was removed: nothing reads them, and they expire. */
const NOBODY = '';

/** How the organisation of the documents of a collection is found. */
const OWNERS: Readonly<Record<string, (db: Db, found: readonly Stored[]) => Promise<(stored: Stored) => unknown>>> = {
  ai_job_results: (db, found) => ownersIn(db, 'ai_jobs', found, ({ _id }) => _id),
  crew_steps: (db, found) => ownersIn(db, 'crew_executions', found, ({ execution }) => execution),
  crew_feedback: (db, found) => ownersIn(db, 'crew_executions', found, ({ execution }) => execution),
  feedback_tallies: (db, found) => ownersIn(db, 'databases', found, ({ database_id }) => database_id),
  // `<org>/<measure>`
  quota_gates: async () => (stored) => stored._id.slice(0, stored._id.lastIndexOf('/')),
  // `<org>/<method> <path>/<hash>`
  idempotency_keys: async () => (stored) => /^(.*?)\/[A-Z]+ \//.exec(stored._id)?.[1],
};

export const NAMED_COLLECTIONS = Object.keys(OWNERS);

/** Adds `org` to the documents that earlier releases have stored without it. */
export async function nameOrganisations({ db, position, save }: MigrationStep, batch = BATCH): Promise<void> {
  const from = Math.max(0, NAMED_COLLECTIONS.indexOf(String(position)));
  for (const name of NAMED_COLLECTIONS.slice(from)) {
    await save(name);
    const unnamed = db.collection<Stored>(name);
    for (;;) {
      const found = (await unnamed.find({ org: null }).limit(batch).toArray()) as Stored[];
      if (found.length === 0) break;
      const ownerOf = await OWNERS[name]!(db, found);
      const writes = found.map((stored): AnyBulkWriteOperation<Stored> => {
        const org = ownerOf(stored) ?? NOBODY;
        return { updateOne: { filter: { _id: stored._id, org: null }, update: { $set: { org } } } };
      });
      await unnamed.bulkWrite(writes, { ordered: false });
      // Another process may have taken over.
      await save(name);
    }
  }
}

/** @returns a function that finds the organisation of a document in the record that it belongs to */
async function ownersIn(db: Db, collection: string, found: readonly Stored[], keyOf: (stored: Stored) => string) {
  const keys = [...new Set(found.map(keyOf))];
  const owners = await db
    .collection<Stored>(collection)
    .find({ _id: { $in: keys } }, { projection: { org: 1 } })
    .toArray();
  const byId = new Map(owners.map(({ _id, org }) => [_id, org]));
  return (stored: Stored): unknown => byId.get(keyOf(stored));
}
