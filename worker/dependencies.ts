import { tmpdir } from 'node:os';
import { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import { SEARCH_ATTRIBUTE_TYPES } from '../domain/search-attributes.js';
import type { TaskQueue } from '../domain/workflow-contract.js';
import { createAiProviders } from '../providers/ai-jobs/index.js';
import { createForeignParser } from '../providers/connectors/index.js';
import { createToolDocumentReader } from '../providers/crews/tool-documents/index.js';
import { createExtractor } from '../providers/extraction/index.js';
import { createGraphExtractor } from '../providers/graph/index.js';
import { createModelGraphExtractor } from '../providers/graph/model-extractor.js';
import type { Config } from '../runtime/config.js';
import { createSharedDependencies } from '../runtime/dependencies.js';
import { createProcessMetrics } from '../runtime/metrics.js';
import type { Tracing } from '../runtime/open-telemetry.js';
import { identifySelf, isAlive } from '../runtime/process-identity.js';
import { configuredLanguageModels, graphModelConfig, openAiConfig } from '../runtime/provider-config.js';
import { createScratch } from '../storage/scratch.js';
import { connectConfiguredTemporal, registerSearchAttributes, temporalAccess } from '../temporal/connection.js';
import { dataConverterOf } from '../temporal/payload-codec.js';
import { createStarters } from '../temporal/starters.js';
import { createWorkerMetrics } from './metrics.js';

/** The queues whose activities open secrets: of receivers to sign callbacks, of connectors to read their sources. */
const OPENING_QUEUES: readonly TaskQueue[] = ['deliveries', 'connectors'];

export type WorkerDependencies = Awaited<ReturnType<typeof createWorkerDependencies>>;

/**
 * What this process and its activities use: stores, providers, metrics and the two connections to Temporal. `close`
 * releases all of it; call it when no activity runs any more.
 */
export async function createWorkerDependencies(config: Config, log: Logger, tracing?: Tracing) {
  const models = configuredLanguageModels(config);
  const metrics = createProcessMetrics();
  const shared = await createSharedDependencies(config, log, {
    metrics,
    opensSecrets: config.POSTBACK_QUEUES.some((queue) => OPENING_QUEUES.includes(queue)),
  });
  const { client, connection, dataConverter } = await connectToTemporal(config, log, tracing);
  const idleMs = config.POSTBACK_PARSER_IDLE_SECONDS * 1000;
  const extractor = createExtractor({
    processes: config.POSTBACK_PARSER_PROCESSES,
    ocrProcesses: config.POSTBACK_OCR_PROCESSES,
    memoryMb: config.POSTBACK_PARSER_MEMORY_MB,
    timeoutMs: config.POSTBACK_PARSER_TIMEOUT_SECONDS * 1000,
    ocrPageTimeoutMs: config.POSTBACK_PARSER_TIMEOUT_SECONDS * 1000,
    languagesDir: config.POSTBACK_OCR_LANGUAGES_DIR,
    idleMs,
    log,
  });
  const builtIn = createGraphExtractor({ idleMs });
  const graphModel = graphModelConfig(config);
  const graphExtractor = graphModel
    ? createModelGraphExtractor(graphModel, { builtIn, meterOf: (org) => shared.quotas.tokenMeter(org), log })
    : builtIn;
  const foreignParser = createForeignParser({ idleMs });
  const toolDocuments = createToolDocumentReader();
  const providers = createAiProviders({ extractor, openai: openAiConfig(config), idleMs });
  return {
    ...shared,
    log,
    client,
    connection,
    dataConverter,
    starters: createStarters(client, { now: shared.now }),
    extractor,
    graphExtractor,
    foreignParser,
    toolDocuments,
    providers,
    models,
    scratch: await createCleanScratch(log),
    metrics: createWorkerMetrics(metrics.registry),
    async close(): Promise<void> {
      const withProcesses = [providers, extractor, graphExtractor, foreignParser, toolDocuments];
      await Promise.allSettled(withProcesses.map((provider) => provider.close()));
      await shared.close();
      await connection.close();
      await client.connection.close();
    },
  };
}

/** Connects the client that starts workflows, registers the search attributes, and opens the workers' connection. */
async function connectToTemporal(config: Config, log: Logger, tracing?: Tracing) {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = config;
  const client = await connectConfiguredTemporal(config, tracing ? [tracing.client] : []);
  const { allowed, mistyped } = await registerSearchAttributes(client, namespace);
  if (!allowed) {
    log.warn(
      { needed: SEARCH_ATTRIBUTE_TYPES },
      'not allowed to register search attributes: an operator must register them, or no workflow starts',
    );
  }
  if (mistyped.length > 0) {
    log.warn(
      { mistyped, needed: SEARCH_ATTRIBUTE_TYPES },
      'search attributes have another type: remove them (temporal operator search-attribute remove) and restart the worker',
    );
  }
  const connection = await NativeConnection.connect({ address, ...temporalAccess(config) });
  return { client, connection, dataConverter: dataConverterOf(config.POSTBACK_TEMPORAL_CODEC_KEYS) };
}

/** Temporary folders for the activities. Those of killed processes are removed first. */
async function createCleanScratch(log: Logger) {
  const scratch = createScratch({ dir: tmpdir(), self: identifySelf(), isAlive });
  const abandoned = await scratch.removeAbandoned();
  if (abandoned > 0) log.info({ folders: abandoned }, 'removed temporary folders of killed processes');
  return scratch;
}
