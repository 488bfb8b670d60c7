import { type Collection, type Db, type IndexDescription, MongoServerError } from 'mongodb';
import { UNFINISHED_JOB_STATUSES } from '../domain/ai-jobs/states.js';
import { UNFINISHED_INDEXING_STATUSES } from '../domain/content/states.js';
import { UNFINISHED_EXECUTION_STATUSES } from '../domain/crews/states.js';
import { OPEN_AUTHENTICATION_STATES } from '../domain/payments/states.js';
import { UNFINISHED_DELIVERY_STATES } from '../domain/webhooks/states.js';

/** The bytes of an organisation's records: sums are read from this index alone. */
export const BYTES_INDEX = { org: 1, bytes: 1 } as const;

/** Indexes that queries name as hints: others begin with the organisation too, and MongoDB would compare their plans. */
export const LIST_INDEX = { org: 1, database_id: 1, indexing_status: 1, type: 1, _id: -1 } as const;
export const COLLECTION_INDEX = {
  org: 1,
  database_id: 1,
  collection: 1,
  indexing_status: 1,
  type: 1,
  _id: -1,
  bytes: 1,
} as const;

/** The items of a request, or of a group of requests. */
export const BATCH_INDEX = { org: 1, batch: 1, group: 1, _id: 1 } as const;

/** The file of the version that is served while a replacement is in progress, or has failed. */
export const SERVED_FILE_INDEX = { org: 1, 'served.source.file_id': 1 } as const;

/** The chunks of a version of an item. */
export const VERSION_INDEX = { database_id: 1, item: 1, version: 1, ordinal: 1 } as const;

/** The graph of a version of an item. */
export const ENTITY_INDEX = { database_id: 1, item: 1, version: 1 } as const;
export const RELATION_INDEX = { ...ENTITY_INDEX, _id: 1 } as const;

export const JOB_LIST_INDEX = { org: 1, status: 1, feature: 1, created_at: -1, _id: -1 } as const;

/** One delivery for each event. */
export const DEDUPE_INDEX = { org: 1, dedupe_key: 1 } as const;

/** The deliveries of an item, a job or an execution. */
export const DOCUMENT_INDEX = { org: 1, doc_id: 1, _id: -1 } as const;

export const DELIVERY_LIST_INDEX = { org: 1, event_type: 1, status: 1, _id: -1 } as const;

/** The registrations with a rate of their own. */
export const RATED_INDEX = { max_per_second: 1 } as const;

/** Ends with the organisation, so that the first delivery of each receiver is read from the index alone. */
export const QUEUE_INDEX = { receiver: 1, next_attempt_at: 1, _id: 1, org: 1 } as const;

/** Indexes by collection. Every query has its index here; a comment names the query where it is not obvious. */
export const INDEXES: Readonly<Record<string, readonly IndexDescription[]>> = {
  api_keys: [{ key: { hash: 1 }, unique: true }, { key: { org: 1, _id: -1 } }],
  audit_entries: [{ key: { org: 1, _id: -1 } }, { key: { expires_at: 1 }, expireAfterSeconds: 0 }],
  model_tokens: [{ key: { expires_at: 1 }, expireAfterSeconds: 0 }],
  rate_limits: [{ key: { ends_at: 1 }, expireAfterSeconds: 0 }],
  // Gates are found by id; the index removes those that no request has passed for a long time.
  quota_gates: [{ key: { passed_at: 1 }, expireAfterSeconds: 30 * 24 * 60 * 60 }],
  databases: [
    { key: { org: 1, name: 1 }, unique: true },
    { key: { org: 1, _id: -1 } },
    { key: { status: 1, updated_at: 1 } },
  ],
  // Leases are found by id; the index removes those of owners that died.
  compaction_leases: [{ key: { until: 1 }, expireAfterSeconds: 60 * 60 }],
  items: [
    { key: { org: 1, database_id: 1, id: 1, collection: 1 }, unique: true },
    // Requests, and the members of their groups.
    { key: BATCH_INDEX },
    { key: SERVED_FILE_INDEX, partialFilterExpression: { 'served.source.file_id': { $gt: '' } } },
    // Lists with any filter: an absent filter is queried as the list of all values.
    { key: LIST_INDEX },
    // Lists of one collection. Counts and sums are read from this index alone.
    { key: COLLECTION_INDEX },
    // The reconciler. The index holds only items in progress.
    {
      key: { check_at: 1 },
      name: 'to_check',
      partialFilterExpression: { indexing_status: { $in: UNFINISHED_INDEXING_STATUSES } },
    },
    // The reconciler: items whose index rows are out of date.
    { key: { check_at: 1 }, name: 'rows_due', partialFilterExpression: { rows_due: { $gt: '' } } },
  ],
  chunks: [{ key: VERSION_INDEX }, { key: { database_id: 1, _id: 1 } }],
  feedback: [
    { key: { org: 1, database_id: 1, _id: -1, rating: 1 } },
    { key: { org: 1, database_id: 1, source_id: 1, _id: -1, rating: 1 } },
    { key: BYTES_INDEX },
    // One rating per voter and query counts.
    { key: { org: 1, vote: 1 }, unique: true, partialFilterExpression: { counts: true } },
  ],
  // Found by id. The index is for the deletion of a database.
  feedback_tallies: [{ key: { org: 1, database_id: 1 } }],
  removed_items: [
    { key: { org: 1, database_id: 1, id: 1, collection: 1 }, unique: true },
    { key: { org: 1, removal: 1, _id: 1 }, partialFilterExpression: { removal: { $gt: '' } } },
    { key: { check_at: 1 }, name: 'to_clear', partialFilterExpression: { removal: { $gt: '' } } },
  ],
  entities: [{ key: ENTITY_INDEX }],
  relations: [{ key: RELATION_INDEX }, { key: { database_id: 1, _id: 1 } }],
  deliveries: [
    // Lists with any filter: an absent filter is queried as the list of all values.
    { key: DELIVERY_LIST_INDEX },
    { key: DOCUMENT_INDEX },
    // The deliveries of one crew.
    { key: { org: 1, crew: 1, _id: -1 }, partialFilterExpression: { crew: { $gt: '' } } },
    // One delivery for each event, even when its transaction is repeated.
    { key: DEDUPE_INDEX, unique: true },
    // Without the unfinished deliveries, which have no time: each index that a change touches costs as much as the change.
    {
      key: { expires_at: 1 },
      name: 'expiring',
      expireAfterSeconds: 0,
      partialFilterExpression: { expires_at: { $gt: new Date(0) } },
    },
    // The reconciler. The index holds only deliveries with a workflow.
    { key: { check_at: 1, _id: 1 }, name: 'followed', partialFilterExpression: { check_at: { $gt: new Date(0) } } },
    // The queue of the sender: the unfinished deliveries, by receiver.
    { key: QUEUE_INDEX, name: 'queue', partialFilterExpression: { next_attempt_at: { $gt: new Date(0) } } },
    // Whether unsent callbacks of jobs still need a retired signing key.
    {
      key: { org: 1, signing_key: 1 },
      partialFilterExpression: { signing_key: { $gt: '' }, status: { $in: UNFINISHED_DELIVERY_STATES } },
    },
  ],
  // At most one rebuild runs.
  index_rebuilds: [
    { key: { check_at: 1 }, name: 'to_check' },
    { key: { status: 1 }, unique: true, partialFilterExpression: { status: 'running' } },
    { key: { expires_at: 1 }, expireAfterSeconds: 0 },
  ],
  delivery_replays: [
    { key: { check_at: 1 }, name: 'to_check', partialFilterExpression: { status: 'running' } },
    { key: { expires_at: 1 }, expireAfterSeconds: 0 },
  ],
  authentications: [
    { key: { org: 1, _id: -1 } },
    { key: { org: 1, status: 1, _id: -1 } },
    // The reconciler. The index holds only authentications that are open.
    {
      key: { check_at: 1 },
      name: 'to_check',
      partialFilterExpression: { status: { $in: OPEN_AUTHENTICATION_STATES } },
    },
    { key: { remove_at: 1 }, expireAfterSeconds: 0 },
  ],
  // The data of checks is found by id; this index removes it.
  eligibility_data: [{ key: { remove_at: 1 }, expireAfterSeconds: 0 }],
  ai_jobs: [
    // Lists with any filter: an absent filter is queried as the list of all values.
    { key: JOB_LIST_INDEX },
    { key: BYTES_INDEX },
    {
      key: { check_at: 1 },
      name: 'to_check',
      partialFilterExpression: { status: { $in: UNFINISHED_JOB_STATUSES } },
    },
    { key: { org: 1, file_id: 1 }, partialFilterExpression: { status: { $in: UNFINISHED_JOB_STATUSES } } },
    // The number of an organisation's unfinished jobs.
    {
      key: { org: 1, status: 1 },
      name: 'unfinished',
      partialFilterExpression: { status: { $in: UNFINISHED_JOB_STATUSES } },
    },
    // Whether unfinished jobs still use a retired signing key.
    { key: { org: 1, signing_key: 1 }, partialFilterExpression: { status: { $in: UNFINISHED_JOB_STATUSES } } },
    // The members of a group.
    { key: { org: 1, group: 1 }, partialFilterExpression: { group: { $exists: true } } },
    { key: { expires_at: 1 }, expireAfterSeconds: 0 },
  ],
  ai_job_results: [{ key: BYTES_INDEX }, { key: { expires_at: 1 }, expireAfterSeconds: 0 }],
  checkpoints: [{ key: { org: 1, owner: 1 } }, { key: { expires_at: 1 }, expireAfterSeconds: 0 }],
  // The second index is for the use of an organisation.
  uploads: [{ key: { expires_at: 1 } }, { key: { org: 1, size: 1 } }],
  signing_keys: [
    { key: { org: 1 } },
    { key: { org: 1, current: 1 }, unique: true, partialFilterExpression: { current: true } },
  ],
  idempotency_keys: [{ key: { expires_at: 1 }, expireAfterSeconds: 0 }],
  registrations: [{ key: RATED_INDEX, partialFilterExpression: { max_per_second: { $gt: 0 } } }],
  crew_executions: [
    {
      key: { check_at: 1 },
      name: 'to_check',
      partialFilterExpression: { status: { $in: UNFINISHED_EXECUTION_STATUSES } },
    },
    // The number of an organisation's unfinished executions, and those that wait for a person.
    {
      key: { org: 1, status: 1, waiting_since: 1, _id: 1 },
      name: 'unfinished',
      partialFilterExpression: { status: { $in: UNFINISHED_EXECUTION_STATUSES } },
    },
    { key: { org: 1, crew: 1, created_at: -1, _id: -1 } },
    { key: BYTES_INDEX },
    { key: { org: 1, crew: 1, status: 1, created_at: -1, _id: -1 } },
    { key: { expires_at: 1 }, expireAfterSeconds: 0 },
  ],
  crew_steps: [
    { key: { org: 1, execution: 1, task: 1, attempt: 1, step: 1, call: 1 } },
    { key: { expires_at: 1 }, expireAfterSeconds: 0 },
  ],
  crew_feedback: [
    // The latest of one task, and of all others.
    { key: { org: 1, execution: 1, applied_at: 1, task: 1 } },
    { key: { expires_at: 1 }, expireAfterSeconds: 0 },
  ],
  connectors: [
    { key: { org: 1, deleted_at: 1, _id: -1 } },
    // The deletion of a database.
    { key: { org: 1, database_id: 1 } },
    // The reconciler: connectors whose latest change Temporal may not know.
    { key: { updated_at: 1 }, name: 'pending', partialFilterExpression: { pending: true } },
  ],
  connector_resources: [
    // Counts by outcome, and resources that a sync has not seen.
    { key: { org: 1, connector: 1, sync: 1, outcome: 1 } },
    {
      key: { org: 1, connector: 1, depth: 1, _id: 1 },
      name: 'due_of_connector',
      partialFilterExpression: { due: true },
    },
    {
      key: { org: 1, connector: 1, _id: 1 },
      name: 'errors_of_connector',
      partialFilterExpression: { 'error.code': { $exists: true } },
    },
  ],
  unclaimed_files: [{ key: { org: 1, batch: 1 } }, { key: { created_at: 1 } }],
  'files.files': [
    { key: { 'metadata.org': 1, 'metadata.batch': 1 } },
    { key: { 'metadata.claimed': 1, uploadDate: 1 } },
    // GridFS's own, as the next one. The driver creates them only while there is no file, so not after a restore.
    { key: { filename: 1, uploadDate: 1 } },
  ],
  'files.chunks': [{ key: { files_id: 1, n: 1 }, unique: true }],
};

/** MongoDB's codes for an index that exists with the same key or name and other options. */
const CHANGED = new Set<unknown>([85, 86]);
/** MongoDB's code for an index that another process has dropped. */
const NOT_FOUND = 27;

/**
 * Creates the indexes that are missing, and replaces those whose options have changed; others stay. Processes may do it at the same
 * time.
 */
export async function ensureIndexes(db: Db, indexes = INDEXES): Promise<void> {
  await Promise.all(
    Object.entries(indexes).map(async ([name, list]) => {
      const collection = db.collection(name);
      try {
        await collection.createIndexes([...list]);
      } catch (error) {
        if (!isChange(error)) throw error;
        for (const index of list) await replaceIfChanged(collection, index);
      }
    }),
  );
}

async function replaceIfChanged(collection: Collection, index: IndexDescription): Promise<void> {
  const create = () => collection.createIndexes([index]);
  try {
    await create();
  } catch (error) {
    if (!isChange(error)) throw error;
    const key = JSON.stringify(index.key);
    const existing = (await collection.indexes()).find(
      (other) => other.name === index.name || JSON.stringify(other.key) === key,
    );
    await collection.dropIndex(existing!.name!).catch((failure) => {
      if (failure.code !== NOT_FOUND) throw failure;
    });
    await create();
  }
}

const isChange = (error: unknown): boolean => error instanceof MongoServerError && CHANGED.has(error.code);
