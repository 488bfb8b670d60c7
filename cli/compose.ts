import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config.js';
import { parseAllowedCidrs } from '../domain/address-rules.js';
import { DAY_MS } from '../domain/delivery-policy.js';
import { parseS3Uri, type S3Location } from '../domain/s3-location.js';
import { createSealer } from '../domain/sealing.js';
import { createEmbedder, type EmbedderConfig } from '../providers/embeddings/index.js';
import { createOutboundClient } from '../providers/outbound/guarded-client.js';
import { createAiJobs } from '../storage/ai-jobs.js';
import { createApiKeys } from '../storage/api-keys.js';
import { createAuthentications } from '../storage/authentications.js';
import { createChunks } from '../storage/chunks.js';
import { createConnectorResources } from '../storage/connector-resources.js';
import { createConnectors } from '../storage/connectors.js';
import { createCrewExecutions } from '../storage/crew-executions.js';
import { createCrewSteps } from '../storage/crew-steps.js';
import { createDatabaseContents } from '../storage/database-contents.js';
import { createDatabases } from '../storage/databases.js';
import { createDeliveries } from '../storage/deliveries.js';
import { createFeedback } from '../storage/feedback.js';
import { createFiles } from '../storage/files.js';
import { createGraphStore } from '../storage/graph.js';
import { createIdempotencyKeys } from '../storage/idempotency-keys.js';
import { createItemCatalogue } from '../storage/item-catalogue.js';
import { createItems } from '../storage/items.js';
import { connectMongo } from '../storage/mongo.js';
import { createPartsStore } from '../storage/parts.js';
import { createRegistrations } from '../storage/registrations.js';
import { createRemovedItems } from '../storage/removed-items.js';
import { createLanceIndex } from '../storage/search-index.js';
import { createSigningKeys } from '../storage/signing-keys.js';
import { createUploads } from '../storage/uploads.js';

/** What API and workers have in common: the stores, the search index, the embedder and the guarded client. */
export async function compose(config: Config, log: Logger) {
  const mongo = await connectMongo(config.MONGODB_URI, 'postback');
  const sealer = createSealer(requireSealingKey(config));
  const index = createLanceIndex({ at: await indexPlace(config), log });
  const choice = embedderChoice(config);
  const embedder = createEmbedder(choice);
  const outbound = createOutboundClient({ allowedCidrs: parseAllowedCidrs(config.OUTBOUND_ALLOW_CIDRS) });
  const files = await createFiles(mongo, s3Location(config, config.POSTBACK_FILES_URI));
  return {
    mongo,
    index,
    embedder,
    embeddings: embedder
      ? { model: embedder.model }
      : { unavailable: choice.kind === 'none' ? choice.reason : 'unknown' },
    outbound,
    keys: createApiKeys(mongo),
    databases: createDatabases(mongo),
    items: createItems(mongo),
    itemCatalogue: createItemCatalogue(mongo),
    files,
    contents: createDatabaseContents(mongo, files),
    removedItems: createRemovedItems(mongo),
    connectors: createConnectors(mongo, sealer),
    resources: createConnectorResources(mongo),
    chunks: createChunks(mongo),
    graph: createGraphStore(mongo),
    feedback: createFeedback(mongo),
    registrations: createRegistrations(mongo, sealer),
    aiJobs: createAiJobs(mongo, config.POSTBACK_JOB_RETENTION_DAYS * DAY_MS),
    crewExecutions: createCrewExecutions(mongo, config.POSTBACK_EXECUTION_RETENTION_DAYS * DAY_MS),
    crewSteps: createCrewSteps(mongo),
    parts: createPartsStore(mongo),
    uploads: createUploads(mongo),
    signingKeys: createSigningKeys(mongo, sealer),
    deliveries: createDeliveries(mongo, config.POSTBACK_DELIVERY_RETENTION_DAYS * DAY_MS),
    authentications: createAuthentications(mongo, sealer, {
      expiresAfterMs: config.POSTBACK_AUTHENTICATION_SECONDS * 1000,
      keptForMs: config.POSTBACK_AUTHENTICATION_KEPT_SECONDS * 1000,
      deviceDataKeptForMs: config.POSTBACK_DEVICE_DATA_KEPT_SECONDS * 1000,
    }),
    idempotencyKeys: createIdempotencyKeys(mongo, sealer, { ttlMs: config.POSTBACK_IDEMPOTENCY_HOURS * 3_600_000 }),
    async close(): Promise<void> {
      await Promise.allSettled([embedder?.close(), outbound.close(), index.close()]);
      await mongo.client.close();
    },
  };
}

export type Composition = Awaited<ReturnType<typeof compose>>;

function requireSealingKey(config: Config): string {
  if (config.POSTBACK_SEALING_KEY) return config.POSTBACK_SEALING_KEY;
  throw new Error('POSTBACK_SEALING_KEY is not set: 32 random bytes, base64, e.g. from "openssl rand -base64 32".');
}

async function indexPlace(config: Config): Promise<string | S3Location> {
  const uri = config.POSTBACK_INDEX_URI;
  if (uri === undefined) return join(config.POSTBACK_DATA_DIR, 'index');
  const location = s3Location(config, uri);
  if (!location) return resolve(uri);
  // Loaded here, because AWS's client takes its time and memory.
  const { requireConditionalWrites } = await import('../storage/s3-bucket.js');
  await requireConditionalWrites(location);
  return location;
}

function s3Location(config: Config, uri: string | undefined): S3Location | undefined {
  const place = uri === undefined ? null : parseS3Uri(uri);
  return place ? { ...place, endpoint: config.AWS_ENDPOINT_URL, region: config.AWS_REGION } : undefined;
}

function embedderChoice(config: Config): EmbedderConfig {
  if (config.POSTBACK_EMBEDDINGS === 'off') {
    return { kind: 'none', reason: config.POSTBACK_EMBEDDINGS_OFF_REASON ?? 'POSTBACK_EMBEDDINGS is off' };
  }
  if (config.POSTBACK_EMBEDDINGS_URL) {
    return {
      kind: 'openai',
      baseUrl: config.POSTBACK_EMBEDDINGS_URL,
      apiKey: config.POSTBACK_EMBEDDINGS_KEY,
      model: config.POSTBACK_EMBEDDINGS_MODEL,
      dimensions: config.POSTBACK_EMBEDDINGS_DIMENSIONS,
    };
  }
  const folder = config.POSTBACK_EMBEDDING_MODEL_DIR;
  if (!folder)
    return {
      kind: 'none',
      reason: 'no embedding model is at hand: set POSTBACK_EMBEDDING_MODEL_DIR or POSTBACK_EMBEDDINGS_URL',
    };
  return {
    kind: 'local',
    modelPath: join(folder, 'model_quantized.onnx'),
    tokenizerPath: join(folder, 'tokenizer.json'),
    threads: config.POSTBACK_EMBEDDING_THREADS,
  };
}
