import { type ClientSession, type Collection, type Db, type IndexDescription, MongoClient } from 'mongodb';
import type {
  AiJobRecord,
  AiJobResultRecord,
  ApiKeyRecord,
  AuthenticationRecord,
  ChunkRecord,
  ConnectorRecord,
  ConnectorResourceRecord,
  CrewExecutionRecord,
  CrewFeedbackRecord,
  CrewStepRecord,
  DatabaseRecord,
  DeliveryRecord,
  EligibilityDataRecord,
  EntityRecord,
  FeedbackRecord,
  FeedbackTallyRecord,
  IdempotencyRecord,
  ItemRecord,
  PartRecord,
  RegistrationRecord,
  RelationRecord,
  RemovedItemRecord,
  SigningKeyRecord,
  UploadRecord,
} from './records.js';

export interface Mongo {
  client: MongoClient;
  db: Db;
  keys: Collection<ApiKeyRecord>;
  databases: Collection<DatabaseRecord>;
  items: Collection<ItemRecord>;
  removedItems: Collection<RemovedItemRecord>;
  chunks: Collection<ChunkRecord>;
  entities: Collection<EntityRecord>;
  relations: Collection<RelationRecord>;
  feedback: Collection<FeedbackRecord>;
  feedbackTallies: Collection<FeedbackTallyRecord>;
  registrations: Collection<RegistrationRecord>;
  deliveries: Collection<DeliveryRecord>;
  authentications: Collection<AuthenticationRecord>;
  eligibility_data: Collection<EligibilityDataRecord>;
  aiJobs: Collection<AiJobRecord>;
  aiJobResults: Collection<AiJobResultRecord>;
  parts: Collection<PartRecord>;
  uploads: Collection<UploadRecord>;
  signingKeys: Collection<SigningKeyRecord>;
  idempotencyKeys: Collection<IdempotencyRecord>;
  crewExecutions: Collection<CrewExecutionRecord>;
  crewSteps: Collection<CrewStepRecord>;
  crewFeedback: Collection<CrewFeedbackRecord>;
  connectors: Collection<ConnectorRecord>;
  connectorResources: Collection<ConnectorResourceRecord>;
}

/** Of items, also named by the queries that must be read from them. */
export const LIST_INDEX = { tenant: 1, indexing_status: 1, type: 1, _id: -1 } as const;
export const COLLECTION_INDEX = { tenant: 1, collection: 1, indexing_status: 1, type: 1, _id: -1, bytes: 1 } as const;

/** Every query the product makes has its index here; the first line of each says which. */
const INDEXES: Record<string, IndexDescription[]> = {
  keys: [{ key: { hash: 1 }, unique: true }, { key: { org: 1, created_at: -1 } }],
  databases: [
    { key: { org: 1, name: 1 }, unique: true },
    { key: { org: 1, _id: -1 } },
    { key: { status: 1, updated_at: 1 } },
  ],
  items: [
    { key: { tenant: 1, id: 1 }, unique: true },
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
  ],
  chunks: [{ key: { item: 1, version: 1, ordinal: 1 } }, { key: { tenant: 1 } }],
  feedback: [
    { key: { tenant: 1, _id: -1, rating: 1 } },
    { key: { tenant: 1, source_id: 1, _id: -1, rating: 1 } },
    // One rating a voter and question counts.
    { key: { vote: 1 }, unique: true, partialFilterExpression: { counts: true } },
  ],
  // Found by id; the index is for the end of a database.
  feedback_tallies: [{ key: { tenant: 1 } }],
  removed_items: [
    { key: { tenant: 1, id: 1 }, unique: true },
    { key: { removal: 1, _id: 1 }, partialFilterExpression: { removal: { $gt: '' } } },
    { key: { check_at: 1 }, name: 'to_clear', partialFilterExpression: { removal: { $gt: '' } } },
  ],
  entities: [{ key: { item: 1, version: 1 } }, { key: { tenant: 1 } }],
  relations: [{ key: { item: 1, version: 1, _id: 1 } }, { key: { tenant: 1, _id: 1 } }],
  deliveries: [
    { key: { org: 1, event_type: 1, _id: -1 } },
    { key: { org: 1, event_type: 1, status: 1, _id: -1 } },
    // A repeated transaction finds the delivery it already wrote.
    { key: { subject: 1 }, unique: true, partialFilterExpression: { subject: { $exists: true } } },
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
  parts: [{ key: { owner: 1 } }, { key: { expires_at: 1 }, expireAfterSeconds: 0 }],
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
    { key: { tenant: 1 } },
    // The sweep: what Temporal has yet to be told.
    { key: { updated_at: 1 }, name: 'pending', partialFilterExpression: { pending: true } },
  ],
  connector_resources: [
    // Counts by outcome, and what a sync has not met.
    { key: { connector: 1, sync: 1, outcome: 1 } },
    { key: { connector: 1, depth: 1, _id: 1 }, name: 'due', partialFilterExpression: { due: true } },
    { key: { connector: 1, _id: 1 }, name: 'errors', partialFilterExpression: { 'error.code': { $exists: true } } },
  ],
  'files.files': [{ key: { 'metadata.batch': 1 } }, { key: { 'metadata.claimed': 1, uploadDate: 1 } }],
};

/** Indexes of earlier versions that would get in the way of today's records. */
const RETIRED_INDEXES: Record<string, string[]> = {
  deliveries: ['item_1_version_1', 'org_1__id_-1', 'org_1_status_1__id_-1'],
  relations: ['item_1_version_1'],
};

/**
 * Connects and makes sure of the indexes.
 * @param uri must name a replica set: the service relies on transactions
 */
export async function connectMongo(uri: string, appName: string): Promise<Mongo> {
  const client = new MongoClient(uri, {
    appName,
    serverSelectionTimeoutMS: 5_000,
    maxPoolSize: 40,
    ignoreUndefined: true,
    writeConcern: { w: 'majority', journal: true },
  });
  await client.connect();
  const db = client.db();
  await retireIndexes(db);
  await Promise.all(Object.entries(INDEXES).map(([name, indexes]) => db.collection(name).createIndexes(indexes)));
  return {
    client,
    db,
    keys: db.collection('keys'),
    databases: db.collection('databases'),
    items: db.collection('items'),
    removedItems: db.collection('removed_items'),
    chunks: db.collection('chunks'),
    entities: db.collection('entities'),
    relations: db.collection('relations'),
    feedback: db.collection('feedback'),
    feedbackTallies: db.collection('feedback_tallies'),
    registrations: db.collection('registrations'),
    deliveries: db.collection('deliveries'),
    authentications: db.collection('authentications'),
    eligibility_data: db.collection('eligibility_data'),
    aiJobs: db.collection('ai_jobs'),
    aiJobResults: db.collection('ai_job_results'),
    parts: db.collection('parts'),
    uploads: db.collection('uploads'),
    signingKeys: db.collection('signing_keys'),
    idempotencyKeys: db.collection('idempotency_keys'),
    crewExecutions: db.collection('crew_executions'),
    crewSteps: db.collection('crew_steps'),
    crewFeedback: db.collection('crew_feedback'),
    connectors: db.collection('connectors'),
    connectorResources: db.collection('connector_resources'),
  };
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

/** MongoDB's code for a broken unique index. */
export function isDuplicateKey(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === 11000;
}

/** A write that has to happen together with another one, or not at all. */
export type Alongside = (session: ClientSession) => Promise<void>;

/**
 * Writes, and what stands alongside with it, in one transaction; alone it needs none.
 * @param write gives null when it found nothing to do: then nothing is written alongside either
 */
export function writeAlongside<T>(
  client: MongoClient,
  write: (session?: ClientSession) => Promise<T>,
  alongside?: Alongside,
): Promise<T> {
  if (!alongside) return write();
  return client.withSession((session) =>
    session.withTransaction(async () => {
      const written = await write(session);
      if (written !== null) await alongside(session);
      return written;
    }),
  );
}
