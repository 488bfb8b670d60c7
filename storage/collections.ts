import { type Db, MongoClient } from 'mongodb';
import type { AiJobRecord, AiJobResultRecord } from './ai-jobs/job-record.js';
import type { SigningKeyRecord } from './ai-jobs/signing-keys.js';
import type { UploadRecord } from './ai-jobs/uploads.js';
import type { ApiKeyRecord } from './api-keys.js';
import type { AuditRecord } from './audit.js';
import type { CheckpointRecord } from './checkpoints.js';
import { type DatabaseClock, followDatabaseClock } from './clock.js';
import type { ConnectorRecord } from './connectors/connectors.js';
import type { ConnectorResourceRecord } from './connectors/resources.js';
import type { ChunkRecord } from './content/chunks.js';
import type { CompactionLeaseRecord } from './content/compaction-leases.js';
import type { DatabaseRecord } from './content/databases.js';
import type { FeedbackRecord, FeedbackTallyRecord } from './content/feedback.js';
import type { EntityRecord, RelationRecord } from './content/graph.js';
import type { IndexRebuildRecord } from './content/index-rebuilds.js';
import type { ItemRecord } from './content/items.js';
import type { RemovedItemRecord } from './content/removed-items.js';
import type { CrewExecutionRecord } from './crews/execution-record.js';
import type { CrewFeedbackRecord } from './crews/feedback.js';
import type { CrewStepRecord } from './crews/steps.js';
import type { UnclaimedFileRecord } from './files/s3.js';
import type { IdempotencyRecord } from './idempotency-keys.js';
import { ensureIndexes } from './indexes.js';
import type { ModelTokensRecord } from './model-tokens.js';
import { byOrganisation, type OrganisationRecords } from './organisation-records.js';
import type { OrganisationRecord } from './organisations.js';
import type { AuthenticationRecord, EligibilityDataRecord } from './payments/authentications.js';
import type { ProcessEndRecord, ProcessRecord, SweepRecord } from './processes.js';
import type { QuotaGateRecord } from './quotas.js';
import type { RateLimitRecord } from './rate-limits.js';
import type { DeliveryRecord } from './webhooks/deliveries.js';
import type { RegistrationRecord } from './webhooks/registrations.js';
import type { ReplayRecord } from './webhooks/replays.js';
import type { OrganisationSecretRecord } from './webhooks/signing-secrets.js';

/** The collections and their records. Record fields have the specification's names where it has one. */
export type Collections = ReturnType<typeof collectionsOf>;

/** What a store gets of the collections. It reaches records of organisations only by their organisation. */
export type Access<Name extends keyof Collections> = {
  [Each in Name]: Collections[Each] extends OrganisationRecords<infer Entry>
    ? OrganisationRecords<Entry>
    : Collections[Each];
};

/** How a process connects. */
export interface ConnectOptions {
  /** How long calls wait for MongoDB while it cannot be reached. */
  serverSelectionMs?: number;
  /** Connections of this process, at most. */
  maxPoolSize?: number;
}

const SERVER_SELECTION_MS = 5_000;
const POOL_SIZE = 40;

/**
 * Connects to MongoDB and creates the indexes that are missing.
 * @param uri of a replica set, because the service uses transactions
 * @throws Error when MongoDB cannot be reached
 */
export async function connectCollections(
  uri: string,
  appName: string,
  options: ConnectOptions = {},
): Promise<Collections> {
  const collections = await openCollections(uri, appName, options);
  try {
    await ensureIndexes(collections.db);
    return collections;
  } catch (error) {
    await collections.mongoClient.close();
    throw error;
  }
}

/** Connects to MongoDB and leaves the indexes: for short commands. */
export async function openCollections(
  uri: string,
  appName: string,
  { serverSelectionMs = SERVER_SELECTION_MS, maxPoolSize = POOL_SIZE }: ConnectOptions = {},
): Promise<Collections> {
  const mongoClient = new MongoClient(uri, {
    appName,
    serverSelectionTimeoutMS: serverSelectionMs,
    maxPoolSize,
    ignoreUndefined: true,
    // A read preference in the URI would also hold for reads that decide about writes.
    readPreference: 'primary',
    writeConcern: { w: 'majority', journal: true },
  });
  const now = followDatabaseClock(mongoClient);
  await mongoClient.connect();
  return collectionsOf({ mongoClient, db: mongoClient.db(), now });
}

/** Where reads go that may be some seconds old. Transactions, and reads that decide about writes, need the primary. */
export type StaleReadPreference = 'primary' | 'secondaryPreferred' | 'nearest';

/** @returns the same collections for reads that may be some seconds old */
export function forStaleReads({ mongoClient, db, now }: Collections, readPreference: StaleReadPreference): Collections {
  return collectionsOf({ mongoClient, db: mongoClient.db(db.databaseName, { readPreference }), now });
}

function collectionsOf(access: { mongoClient: MongoClient; db: Db; now: DatabaseClock }) {
  const { db } = access;
  return {
    ...access,
    apiKeys: db.collection<ApiKeyRecord>('api_keys'),
    auditEntries: byOrganisation(db.collection<AuditRecord>('audit_entries')),
    organisations: db.collection<OrganisationRecord>('organisations'),
    processes: db.collection<ProcessRecord>('processes'),
    processEnds: db.collection<ProcessEndRecord>('process_ends'),
    sweeps: db.collection<SweepRecord>('sweeps'),
    quotaGates: db.collection<QuotaGateRecord>('quota_gates'),
    modelTokens: db.collection<ModelTokensRecord>('model_tokens'),
    rateLimits: db.collection<RateLimitRecord>('rate_limits'),
    databases: byOrganisation(db.collection<DatabaseRecord>('databases')),
    indexRebuilds: db.collection<IndexRebuildRecord>('index_rebuilds'),
    compactionLeases: db.collection<CompactionLeaseRecord>('compaction_leases'),
    items: byOrganisation(db.collection<ItemRecord>('items')),
    removedItems: byOrganisation(db.collection<RemovedItemRecord>('removed_items')),
    chunks: db.collection<ChunkRecord>('chunks'),
    entities: db.collection<EntityRecord>('entities'),
    relations: db.collection<RelationRecord>('relations'),
    feedback: byOrganisation(db.collection<FeedbackRecord>('feedback')),
    feedbackTallies: byOrganisation(db.collection<FeedbackTallyRecord>('feedback_tallies')),
    registrations: db.collection<RegistrationRecord>('registrations'),
    deliveries: byOrganisation(db.collection<DeliveryRecord>('deliveries')),
    replays: byOrganisation(db.collection<ReplayRecord>('delivery_replays')),
    authentications: byOrganisation(db.collection<AuthenticationRecord>('authentications')),
    eligibilityData: byOrganisation(db.collection<EligibilityDataRecord>('eligibility_data')),
    paymentSigningSecrets: db.collection<OrganisationSecretRecord>('payment_signing_secrets'),
    aiJobs: byOrganisation(db.collection<AiJobRecord>('ai_jobs')),
    aiJobResults: byOrganisation(db.collection<AiJobResultRecord>('ai_job_results')),
    checkpoints: byOrganisation(db.collection<CheckpointRecord>('checkpoints')),
    uploads: byOrganisation(db.collection<UploadRecord>('uploads')),
    unclaimedFiles: db.collection<UnclaimedFileRecord>('unclaimed_files'),
    signingKeys: byOrganisation(db.collection<SigningKeyRecord>('signing_keys')),
    idempotencyKeys: byOrganisation(db.collection<IdempotencyRecord>('idempotency_keys')),
    crewExecutions: byOrganisation(db.collection<CrewExecutionRecord>('crew_executions')),
    crewSteps: byOrganisation(db.collection<CrewStepRecord>('crew_steps')),
    crewFeedback: byOrganisation(db.collection<CrewFeedbackRecord>('crew_feedback')),
    crewSigningSecrets: db.collection<OrganisationSecretRecord>('crew_signing_secrets'),
    connectors: byOrganisation(db.collection<ConnectorRecord>('connectors')),
    connectorResources: byOrganisation(db.collection<ConnectorResourceRecord>('connector_resources')),
  };
}
