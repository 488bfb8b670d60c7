import type { Db, IndexDescription } from 'mongodb';

/** Of items, also named by the queries that must be read from them. */
export const LIST_INDEX = { database_id: 1, indexing_status: 1, type: 1, _id: -1 } as const;
export const COLLECTION_INDEX = {
  database_id: 1,
  collection: 1,
  indexing_status: 1,
  type: 1,
  _id: -1,
  bytes: 1,
} as const;

/** By collection. Every query that the product makes has its index here; a comment says which where that is not plain. */
const INDEXES: Record<string, IndexDescription[]> = {
  keys: [{ key: { hash: 1 }, unique: true }, { key: { org: 1, created_at: -1 } }],
  databases: [
    { key: { org: 1, name: 1 }, unique: true },
    { key: { org: 1, _id: -1 } },
    { key: { status: 1, updated_at: 1 } },
  ],
  items: [
    { key: { database_id: 1, id: 1 }, unique: true },
    { key: { batch: 1, _id: 1 } },
    // Lists, whatever they are filtered by: a filter that is left out stands for all values of a short list.
    { key: LIST_INDEX },
    // The same in one collection; counts and sums are read from this index alone.
    { key: COLLECTION_INDEX },
    // The sweep: only items under way are in this index.
    {
      key: { check_at: 1 },
      name: 'to_check',
      partialFilterExpression: { indexing_status: { $in: ['queued', 'processing', 'graph_creation'] } },
    },
    // The same for items whose index rows are behind.
    { key: { check_at: 1 }, name: 'rows_due', partialFilterExpression: { rows_due: { $gt: '' } } },
  ],
  chunks: [{ key: { item: 1, version: 1, ordinal: 1 } }, { key: { database_id: 1 } }],
  feedback: [
    { key: { database_id: 1, _id: -1, rating: 1 } },
    { key: { database_id: 1, source_id: 1, _id: -1, rating: 1 } },
    // One rating a voter and question counts.
    { key: { vote: 1 }, unique: true, partialFilterExpression: { counts: true } },
  ],
  // Found by id; the index is for the end of a database.
  feedback_tallies: [{ key: { database_id: 1 } }],
  removed_items: [
    { key: { database_id: 1, id: 1 }, unique: true },
    { key: { removal: 1, _id: 1 }, partialFilterExpression: { removal: { $gt: '' } } },
    { key: { check_at: 1 }, name: 'to_clear', partialFilterExpression: { removal: { $gt: '' } } },
  ],
  entities: [{ key: { item: 1, version: 1 } }, { key: { database_id: 1 } }],
  relations: [{ key: { item: 1, version: 1, _id: 1 } }, { key: { database_id: 1, _id: 1 } }],
  deliveries: [
    { key: { org: 1, event_type: 1, _id: -1 } },
    { key: { org: 1, event_type: 1, status: 1, _id: -1 } },
    // A repeated transaction finds the delivery it already wrote.
    { key: { dedupe_key: 1 }, unique: true },
    { key: { expires_at: 1 }, expireAfterSeconds: 0 },
    {
      key: { check_at: 1 },
      name: 'to_check',
      partialFilterExpression: { status: { $in: ['pending', 'sweeping', 'failed'] } },
    },
  ],
  // Authentications are found by id alone; these indexes remove what is due.
  authentications: [{ key: { remove_at: 1 }, expireAfterSeconds: 0 }],
  eligibility_data: [{ key: { remove_at: 1 }, expireAfterSeconds: 0 }],
  // The names are those of the library that counts here.
  authentication_requests: [
    { key: { key: 1 }, unique: true },
    { key: { expire: 1 }, expireAfterSeconds: 0 },
  ],
  ai_jobs: [
    {
      key: { check_at: 1 },
      name: 'to_check',
      partialFilterExpression: { status: { $in: ['queued', 'processing'] } },
    },
    { key: { file_id: 1 }, partialFilterExpression: { status: { $in: ['queued', 'processing'] } } },
    // Whether a retired signing key is still waited for.
    { key: { signing_key: 1, status: 1 } },
    { key: { expires_at: 1 }, expireAfterSeconds: 0 },
  ],
  ai_job_results: [{ key: { expires_at: 1 }, expireAfterSeconds: 0 }],
  checkpoints: [{ key: { owner: 1 } }, { key: { expires_at: 1 }, expireAfterSeconds: 0 }],
  uploads: [{ key: { expires_at: 1 } }],
  signing_keys: [{ key: { current: 1 }, unique: true, partialFilterExpression: { current: true } }],
  idempotency_keys: [{ key: { expires_at: 1 }, expireAfterSeconds: 0 }],
  crew_executions: [
    {
      key: { check_at: 1 },
      name: 'to_check',
      partialFilterExpression: { status: { $in: ['running', 'retrying', 'pending_human_input'] } },
    },
    { key: { expires_at: 1 }, expireAfterSeconds: 0 },
  ],
  crew_steps: [
    { key: { execution: 1, task: 1, attempt: 1, step: 1, call: 1 } },
    { key: { expires_at: 1 }, expireAfterSeconds: 0 },
  ],
  crew_feedback: [{ key: { execution: 1, applied_at: 1 } }, { key: { expires_at: 1 }, expireAfterSeconds: 0 }],
  connectors: [
    { key: { org: 1, _id: -1 } },
    // The end of a database.
    { key: { database_id: 1 } },
    // The sweep: what Temporal has yet to be told.
    { key: { updated_at: 1 }, name: 'pending', partialFilterExpression: { pending: true } },
  ],
  connector_resources: [
    // Counts by outcome, and what a sync has not met.
    { key: { connector: 1, sync: 1, outcome: 1 } },
    { key: { connector: 1, depth: 1, _id: 1 }, name: 'due', partialFilterExpression: { due: true } },
    { key: { connector: 1, _id: 1 }, name: 'errors', partialFilterExpression: { 'error.code': { $exists: true } } },
  ],
  unclaimed_files: [{ key: { batch: 1 } }, { key: { created_at: 1 } }],
  'files.files': [{ key: { 'metadata.batch': 1 } }, { key: { 'metadata.claimed': 1, uploadDate: 1 } }],
};

/** Indexes of earlier versions that would get in the way of today's records. */
const RETIRED_INDEXES: Record<string, string[]> = {
  deliveries: ['item_1_version_1', 'org_1__id_-1', 'org_1_status_1__id_-1'],
  relations: ['item_1_version_1'],
};

/** Drops the retired indexes, and makes those that are missing. */
export async function ensureIndexes(db: Db): Promise<void> {
  await retireIndexes(db);
  await Promise.all(Object.entries(INDEXES).map(([name, indexes]) => db.collection(name).createIndexes(indexes)));
}

async function retireIndexes(db: Db): Promise<void> {
  for (const [name, retired] of Object.entries(RETIRED_INDEXES)) {
    const present = await db
      .collection(name)
      .indexes()
      .catch(() => []);
    for (const { name: index } of present) {
      if (index !== undefined && retired.includes(index)) await db.collection(name).dropIndex(index);
    }
  }
}
