import type { Logger } from 'pino';
import { parseAllowedCidrs } from '../domain/address-rules.js';
import { createEmbedders } from '../domain/content/embedding-models.js';
import { createSealer, type Sealer } from '../domain/sealing.js';
import { DAY_MS } from '../domain/webhooks/delivery-policy.js';
import { createLoadSwitch } from '../domain/webhooks/load-switch.js';
import { createEmbedder } from '../providers/embeddings/index.js';
import { createOutboundClient } from '../providers/outbound/guarded-client.js';
import { createReranker } from '../providers/reranking/index.js';
import { createActivity } from '../storage/activity.js';
import { createExpiredUploads } from '../storage/ai-jobs/expired-uploads.js';
import { createAiJobs } from '../storage/ai-jobs/jobs.js';
import { createSigningKeys } from '../storage/ai-jobs/signing-keys.js';
import { createUploads } from '../storage/ai-jobs/uploads.js';
import { createApiKeys } from '../storage/api-keys.js';
import { createAudit } from '../storage/audit.js';
import { createBacklogReader } from '../storage/backlog.js';
import { createCheckpointStore } from '../storage/checkpoints.js';
import { connectCollections, forStaleReads } from '../storage/collections.js';
import { createConnectors } from '../storage/connectors/connectors.js';
import { createConnectorResources } from '../storage/connectors/resources.js';
import { createConnectorSyncs } from '../storage/connectors/syncs.js';
import { createChunks } from '../storage/content/chunks.js';
import { createCompactionLeases } from '../storage/content/compaction-leases.js';
import { createDatabaseContents } from '../storage/content/database-contents.js';
import { createDatabaseIndexes } from '../storage/content/database-indexes.js';
import { createDatabases } from '../storage/content/databases.js';
import { createFeedback } from '../storage/content/feedback.js';
import { createGraphStore } from '../storage/content/graph.js';
import { createIndexRebuilds } from '../storage/content/index-rebuilds.js';
import { createItemCatalogue } from '../storage/content/item-catalogue.js';
import { createItemCommits } from '../storage/content/item-commits.js';
import { createItemQueue } from '../storage/content/item-queue.js';
import { createItems } from '../storage/content/items.js';
import { createRemovedItems } from '../storage/content/removed-items.js';
import { createSearchIndex } from '../storage/content/search-index/engines.js';
import { createLanceIndex } from '../storage/content/search-index/lancedb/index.js';
import { createCrewExecutions } from '../storage/crews/executions.js';
import { createCrewFeedback } from '../storage/crews/feedback.js';
import { createCrewSteps } from '../storage/crews/steps.js';
import { createChangeLog } from '../storage/events/changes.js';
import { createFiles } from '../storage/files/index.js';
import { createIdempotencyKeys } from '../storage/idempotency-keys.js';
import { createModelTokens } from '../storage/model-tokens.js';
import { createOrganisationDirectory } from '../storage/organisation-directory.js';
import { createOrganisations } from '../storage/organisations.js';
import { createAuthentications } from '../storage/payments/authentications.js';
import { createProcesses } from '../storage/processes.js';
import { createQuotas } from '../storage/quotas.js';
import { createRateLimiter } from '../storage/rate-limits.js';
import { createUsage } from '../storage/usage.js';
import { createClientDeliveries } from '../storage/webhooks/client-deliveries.js';
import { createDeliveries } from '../storage/webhooks/deliveries.js';
import { createDeliveryQueue } from '../storage/webhooks/delivery-queue.js';
import { createOperatorNotices } from '../storage/webhooks/operator-notices.js';
import { createRegistrations } from '../storage/webhooks/registrations.js';
import { createReplays } from '../storage/webhooks/replays.js';
import { createOrganisationSecrets } from '../storage/webhooks/signing-secrets.js';
import { createHeaderSealing } from '../storage/webhooks/static-headers.js';
import { type Config, defaultLimits } from './config.js';
import { type ModelMetrics, measuredEmbedder, measuredReranker } from './metrics.js';
import {
  connectOpenSearch,
  embedderConfig,
  filesLocation,
  indexLocation,
  previousEmbedders,
  rerankerConfig,
} from './provider-config.js';

/**
 * What the API, the workers and the commands share: the stores, the search index, the embedder and the guarded HTTP
 * client. `close` releases their connections and threads.
 * @param opensSecrets whether this process seals or opens values, and so needs POSTBACK_SEALING_KEY
 * @param sendsCallbacks whether all requests of this process to other addresses are callbacks, which pass POSTBACK_CALLBACK_PROXY
 * @param metrics of the calls of embedding models and rerankers
 * @throws Error when a setting is missing, or MongoDB or the bucket of the search index cannot be reached
 */
export async function createSharedDependencies(
  config: Config,
  log: Logger,
  {
    opensSecrets,
    sendsCallbacks = false,
    metrics,
  }: { opensSecrets: boolean; sendsCallbacks?: boolean; metrics?: ModelMetrics },
) {
  const collections = await connectCollections(config.MONGODB_URI, 'postback', {
    maxPoolSize: config.POSTBACK_MONGODB_POOL_SIZE,
  });
  const staleReads = forStaleReads(collections, config.POSTBACK_MONGODB_STALE_READ_PREFERENCE);
  const sealer = createConfiguredSealer(config, opensSecrets);
  const opensearch = await connectOpenSearch(config);
  const index = createSearchIndex({
    lancedb: createLanceIndex({
      location: await indexLocation(config),
      leases: createCompactionLeases(collections),
      log,
    }),
    opensearch,
  });
  const embedding = embedderConfig(config);
  const embedders = createEmbedders(
    [embedding, ...previousEmbedders(config)]
      .map(createEmbedder)
      .filter((embedder) => embedder !== null)
      .map((embedder) => (metrics ? measuredEmbedder(embedder, metrics) : embedder)),
  );
  const outbound = createOutboundClient({
    allowedCidrs: parseAllowedCidrs(config.OUTBOUND_ALLOW_CIDRS),
    proxy: sendsCallbacks ? config.POSTBACK_CALLBACK_PROXY : undefined,
  });
  const files = await createFiles(collections, filesLocation(config));
  const itemQueue = createItemQueue(collections);
  const registrations = createRegistrations(collections, sealer);
  const deliveryRetentionMs = config.POSTBACK_DELIVERY_RETENTION_DAYS * DAY_MS;
  const loadSwitch = createLoadSwitch({ perSecond: config.POSTBACK_DELIVERY_WORKFLOWS_PER_SECOND });
  const deliveries = createDeliveries(collections, loadSwitch);
  const operatorUrl = config.POSTBACK_OPERATOR_WEBHOOK_URL;
  const modelTokens = createModelTokens(collections);
  const quotas = createQuotas(
    {
      ...collections,
      modelTokens,
      organisations: createOrganisations(collections),
      usage: createUsage(collections, staleReads),
    },
    defaultLimits(config),
  );
  const reranking = rerankerConfig(config);
  const reranker = reranking && createReranker(reranking, { meterOf: (org) => quotas.tokenMeter(org), log });
  return {
    mongoClient: collections.mongoClient,
    db: collections.db,
    now: collections.now,
    index,
    /** Null: not configured. */
    searchReachable: opensearch ? () => opensearch.ping() : null,
    embedders,
    embeddings: embedders.current ?? { unavailable: embedding.kind === 'none' ? embedding.reason : 'unknown' },
    outbound,
    readBacklog: createBacklogReader(staleReads),
    keys: createApiKeys(collections),
    audit: createAudit(collections),
    organisationDirectory: createOrganisationDirectory(collections),
    changes: createChangeLog(collections.db),
    rateLimiter: createRateLimiter(collections, log),
    modelTokens,
    quotas,
    reranker: reranker ? (metrics ? measuredReranker(reranker, metrics) : reranker) : null,
    activity: createActivity(collections),
    databases: createDatabases(collections, opensearch ? 'opensearch' : 'lancedb'),
    databaseIndexes: createDatabaseIndexes(collections),
    indexRebuilds: createIndexRebuilds(collections),
    items: createItems(collections),
    itemQueue,
    itemCommits: createItemCommits({ mongoClient: collections.mongoClient, itemQueue }),
    itemCatalogue: createItemCatalogue(collections),
    files,
    contents: createDatabaseContents(collections),
    removedItems: createRemovedItems({ ...collections, registrations, deliveries }),
    connectors: createConnectors(collections, sealer),
    connectorSyncs: createConnectorSyncs(collections),
    resources: createConnectorResources(collections),
    chunks: createChunks(collections),
    graph: createGraphStore(collections),
    feedback: createFeedback(collections),
    registrations,
    jobHeaders: createHeaderSealing(sealer, 'job-headers'),
    crewHeaders: createHeaderSealing(sealer, 'crew-headers'),
    aiJobs: createAiJobs(collections, config.POSTBACK_JOB_RETENTION_DAYS * DAY_MS),
    crewExecutions: createCrewExecutions(collections, config.POSTBACK_EXECUTION_RETENTION_DAYS * DAY_MS),
    crewFeedback: createCrewFeedback(collections),
    crewSigningSecrets: createOrganisationSecrets(collections, sealer, 'crew'),
    crewSteps: createCrewSteps(collections),
    checkpoints: createCheckpointStore(collections),
    uploads: createUploads(collections),
    expiredUploads: createExpiredUploads(collections),
    signingKeys: createSigningKeys(collections, sealer),
    deliveries,
    /** Null: the operator wants none. */
    operatorNotices:
      operatorUrl === undefined
        ? null
        : createOperatorNotices(collections, {
            url: operatorUrl,
            periodMs: config.POSTBACK_OPERATOR_NOTICE_SECONDS * 1000,
          }),
    clientDeliveries: createClientDeliveries(collections),
    replays: createReplays(collections),
    processes: createProcesses(collections),
    deliveryQueue: createDeliveryQueue(collections, deliveryRetentionMs),
    paymentSigningSecrets: createOrganisationSecrets(collections, sealer, 'payment'),
    authentications: createAuthentications(collections, sealer, {
      expiresAfterMs: config.POSTBACK_AUTHENTICATION_SECONDS * 1000,
      keptForMs: config.POSTBACK_AUTHENTICATION_KEPT_SECONDS * 1000,
      deviceDataKeptForMs: config.POSTBACK_DEVICE_DATA_KEPT_SECONDS * 1000,
    }),
    idempotencyKeys: createIdempotencyKeys(collections, sealer, {
      ttlMs: config.POSTBACK_IDEMPOTENCY_HOURS * 3_600_000,
    }),
    async close(): Promise<void> {
      await Promise.allSettled([embedders.close(), outbound.close(), index.close()]);
      await collections.mongoClient.close();
    },
  };
}

export type SharedDependencies = Awaited<ReturnType<typeof createSharedDependencies>>;

function createConfiguredSealer(config: Config, required: boolean): Sealer {
  if (config.POSTBACK_SEALING_KEY) return createSealer(config.POSTBACK_SEALING_KEY);
  const missing = () => {
    throw new Error('POSTBACK_SEALING_KEY is not set: 32 random bytes, base64, e.g. from "openssl rand -base64 32".');
  };
  if (required) missing();
  return { keyId: '', seal: missing, open: missing, isCurrent: missing };
}
