import { type ClientSession, type Collection, type Db, MongoClient } from 'mongodb';
import { ensureIndexes } from './indexes.js';
import type { AiJobRecord, AiJobResultRecord } from './records/ai-jobs.js';
import type { ApiKeyRecord } from './records/api-keys.js';
import type { AuthenticationRecord, EligibilityDataRecord } from './records/authentications.js';
import type { ChunkRecord } from './records/chunks.js';
import type { ConnectorResourceRecord } from './records/connector-resources.js';
import type { ConnectorRecord } from './records/connectors.js';
import type { CrewExecutionRecord, CrewFeedbackRecord } from './records/crew-executions.js';
import type { CrewStepRecord } from './records/crew-steps.js';
import type { DatabaseRecord } from './records/databases.js';
import type { DeliveryRecord } from './records/deliveries.js';
import type { FeedbackRecord, FeedbackTallyRecord } from './records/feedback.js';
import type { EntityRecord, RelationRecord } from './records/graph.js';
import type { IdempotencyRecord } from './records/idempotency-keys.js';
import type { ItemRecord } from './records/items.js';
import type { PartRecord } from './records/parts.js';
import type { RegistrationRecord } from './records/registrations.js';
import type { RemovedItemRecord } from './records/removed-items.js';
import type { SigningKeyRecord } from './records/signing-keys.js';
import type { UnclaimedFileRecord } from './records/unclaimed-files.js';
import type { UploadRecord } from './records/uploads.js';

/** The collections, with the records as MongoDB holds them: field names are the specification's where it has one. */
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
  eligibilityData: Collection<EligibilityDataRecord>;
  aiJobs: Collection<AiJobRecord>;
  aiJobResults: Collection<AiJobResultRecord>;
  parts: Collection<PartRecord>;
  uploads: Collection<UploadRecord>;
  unclaimedFiles: Collection<UnclaimedFileRecord>;
  signingKeys: Collection<SigningKeyRecord>;
  idempotencyKeys: Collection<IdempotencyRecord>;
  crewExecutions: Collection<CrewExecutionRecord>;
  crewSteps: Collection<CrewStepRecord>;
  crewFeedback: Collection<CrewFeedbackRecord>;
  connectors: Collection<ConnectorRecord>;
  connectorResources: Collection<ConnectorResourceRecord>;
}

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
  await ensureIndexes(db);
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
    eligibilityData: db.collection('eligibility_data'),
    aiJobs: db.collection('ai_jobs'),
    aiJobResults: db.collection('ai_job_results'),
    parts: db.collection('parts'),
    uploads: db.collection('uploads'),
    unclaimedFiles: db.collection('unclaimed_files'),
    signingKeys: db.collection('signing_keys'),
    idempotencyKeys: db.collection('idempotency_keys'),
    crewExecutions: db.collection('crew_executions'),
    crewSteps: db.collection('crew_steps'),
    crewFeedback: db.collection('crew_feedback'),
    connectors: db.collection('connectors'),
    connectorResources: db.collection('connector_resources'),
  };
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
