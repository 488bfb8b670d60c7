import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { parseAllowedCidrs } from '../domain/address-rules.js';
import type { CrewDefinition } from '../domain/crews/crews.js';
import type { LanguageModels } from '../domain/crews/language-model.js';
import { parseS3Uri, type S3Location } from '../domain/s3-location.js';
import { createSealer } from '../domain/sealing.js';
import { DAY_MS } from '../domain/webhooks/delivery-policy.js';
import type { OpenAiConfig } from '../providers/ai-jobs/index.js';
import { loadCrews } from '../providers/crews/load-crews.js';
import { createEmbedder, type EmbedderConfig } from '../providers/embeddings/index.js';
import { createLanguageModels } from '../providers/language-models/index.js';
import { createOutboundClient } from '../providers/outbound/guarded-client.js';
import { createAiJobs } from '../storage/ai-jobs/jobs.js';
import { createSigningKeys } from '../storage/ai-jobs/signing-keys.js';
import { createUploads } from '../storage/ai-jobs/uploads.js';
import { createApiKeys } from '../storage/api-keys.js';
import { createCheckpointStore } from '../storage/checkpoints.js';
import { connectCollections } from '../storage/collections.js';
import { createConnectors } from '../storage/connectors/connectors.js';
import { createConnectorResources } from '../storage/connectors/resources.js';
import { createChunks } from '../storage/content/chunks.js';
import { createDatabaseContents } from '../storage/content/database-contents.js';
import { createDatabases } from '../storage/content/databases.js';
import { createFeedback } from '../storage/content/feedback.js';
import { createGraphStore } from '../storage/content/graph.js';
import { createItemCatalogue } from '../storage/content/item-catalogue.js';
import { createItems } from '../storage/content/items.js';
import { createRemovedItems } from '../storage/content/removed-items.js';
import { createLanceIndex } from '../storage/content/search-index/index.js';
import { createCrewExecutions } from '../storage/crews/executions.js';
import { createCrewSteps } from '../storage/crews/steps.js';
import { createFiles } from '../storage/files.js';
import { createIdempotencyKeys } from '../storage/idempotency-keys.js';
import { createAuthentications } from '../storage/payments/authentications.js';
import { createDeliveries } from '../storage/webhooks/deliveries.js';
import { createRegistrations } from '../storage/webhooks/registrations.js';
import type { Config } from './config.js';

/** What API and workers have in common: the stores, the search index, the embedder and the guarded client. */
export async function compose(config: Config, log: Logger) {
  const collections = await connectCollections(config.MONGODB_URI, 'postback');
  const sealer = createSealer(requireSealingKey(config));
  const index = createLanceIndex({ at: await indexPlace(config), log });
  const choice = embedderChoice(config);
  const embedder = createEmbedder(choice);
  const outbound = createOutboundClient({ allowedCidrs: parseAllowedCidrs(config.OUTBOUND_ALLOW_CIDRS) });
  const files = await createFiles(collections, s3Location(config, config.POSTBACK_FILES_URI));
  return {
    mongoClient: collections.mongoClient,
    db: collections.db,
    index,
    embedder,
    embeddings: embedder
      ? { model: embedder.model }
      : { unavailable: choice.kind === 'none' ? choice.reason : 'unknown' },
    outbound,
    keys: createApiKeys(collections),
    databases: createDatabases(collections),
    items: createItems(collections),
    itemCatalogue: createItemCatalogue(collections),
    files,
    contents: createDatabaseContents(collections),
    removedItems: createRemovedItems(collections),
    connectors: createConnectors(collections, sealer),
    resources: createConnectorResources(collections),
    chunks: createChunks(collections),
    graph: createGraphStore(collections),
    feedback: createFeedback(collections),
    registrations: createRegistrations(collections, sealer),
    aiJobs: createAiJobs(collections, config.POSTBACK_JOB_RETENTION_DAYS * DAY_MS),
    crewExecutions: createCrewExecutions(collections, config.POSTBACK_EXECUTION_RETENTION_DAYS * DAY_MS),
    crewSteps: createCrewSteps(collections),
    checkpoints: createCheckpointStore(collections),
    uploads: createUploads(collections),
    signingKeys: createSigningKeys(collections, sealer),
    deliveries: createDeliveries(collections, config.POSTBACK_DELIVERY_RETENTION_DAYS * DAY_MS),
    authentications: createAuthentications(collections, sealer, {
      expiresAfterMs: config.POSTBACK_AUTHENTICATION_SECONDS * 1000,
      keptForMs: config.POSTBACK_AUTHENTICATION_KEPT_SECONDS * 1000,
      deviceDataKeptForMs: config.POSTBACK_DEVICE_DATA_KEPT_SECONDS * 1000,
    }),
    idempotencyKeys: createIdempotencyKeys(collections, sealer, {
      ttlMs: config.POSTBACK_IDEMPOTENCY_HOURS * 3_600_000,
    }),
    async close(): Promise<void> {
      await Promise.allSettled([embedder?.close(), outbound.close(), index.close()]);
      await collections.mongoClient.close();
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

/** The server of the provider `openai`, by the operator's settings; undefined without one. */
export function openAiConfig(config: Config): OpenAiConfig | undefined {
  if (config.POSTBACK_OPENAI_URL === undefined) return undefined;
  const chat = config.POSTBACK_OPENAI_CHAT_MODEL;
  return {
    baseUrl: config.POSTBACK_OPENAI_URL,
    apiKey: config.POSTBACK_OPENAI_KEY,
    models: {
      'text/chat': chat,
      'text/summarize': chat,
      'translation/automatic_translation': chat,
      'image/captioning': config.POSTBACK_OPENAI_VISION_MODEL,
      'audio/speech_to_text_async': config.POSTBACK_OPENAI_SPEECH_MODEL,
    },
  };
}

/** The deployed crews and the models of their agents, by the operator's settings. @throws CrewFilesError */
export function composeCrews(config: Config): { crews: Map<string, CrewDefinition>; models: LanguageModels } {
  const { POSTBACK_OPENAI_URL: baseUrl, POSTBACK_OPENAI_KEY: apiKey, POSTBACK_OPENAI_CHAT_MODEL: model } = config;
  return {
    crews: loadCrews(config.POSTBACK_CREWS_DIR),
    models: createLanguageModels({ openai: baseUrl === undefined ? undefined : { baseUrl, apiKey, model } }),
  };
}
