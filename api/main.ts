import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { judgeAddress, parseAllowedCidrs } from '../domain/address-rules.js';
import { tableOf } from '../domain/content/index-generations.js';
import { createAiProviders } from '../providers/ai-jobs/index.js';
import { type CrewCatalogue, createCrewCatalogue } from '../providers/crews/load-crews.js';
import { createExtractor, describeFile, detectFileKind } from '../providers/extraction/index.js';
import { type Config, readConfig } from '../runtime/config.js';
import { createSharedDependencies, type SharedDependencies } from '../runtime/dependencies.js';
import { createLogger } from '../runtime/logger.js';
import { createProcessMetrics, type ProcessMetrics } from '../runtime/metrics.js';
import { exitAfter, runProcess, stopRequested } from '../runtime/process.js';
import { showSigns } from '../runtime/process-signs.js';
import { configuredLanguageModels, openAiConfig } from '../runtime/provider-config.js';
import { readReadiness, warnOfOutdatedIndexes } from '../runtime/readiness.js';
import { startTracing } from '../runtime/tracing.js';
import { createRetrieval } from '../storage/content/retrieval.js';
import type { RateLimiter } from '../storage/rate-limits.js';
import { connectConfiguredTemporal, temporalReachable } from '../temporal/connection.js';
import { sweepNow } from '../temporal/reconciler.js';
import { createStarters } from '../temporal/starters.js';
import { createJobBatcher } from './ai-jobs/jobs.js';
import { type ApiDependencies, createApps } from './app.js';
import { createIngestBatcher } from './content/ingest-accept.js';
import { createStarterMetrics } from './metrics.js';
import type { RateLimits } from './rate-limit.js';
import { createApiServer } from './server.js';

/** How long a request waits for Temporal. Its work is stored by then, so the reconciler starts it later. */
const TEMPORAL_CALL_MS = 5_000;
/** How long running requests may take to finish after the signal to stop. */
const DRAIN_MS = 10_000;
/** How long closing the connections may take after the running requests. */
const CLOSE_MS = 5_000;
/** Databases whose indexes are loaded at the start. More would push the first ones out of the cache. */
const WARM_DATABASES = 20;

await runProcess(runApi);

/** The API process: serves until it is asked to stop, then lets running requests finish. */
async function runApi(): Promise<void> {
  const stopped = stopRequested();
  const stopping = new AbortController();
  const config = readConfig(process.env);
  const tracing = await startTracing(config, 'api');
  const log = createLogger(config.LOG_LEVEL, 'api', tracing?.logFields);

  const crews = createCrewCatalogue(config.POSTBACK_CREWS_DIR, {
    onMistakes(name, problems) {
      const list = problems.map((problem) => `  ${problem}`).join('\n');
      log.error({ crew: name }, `the files of the crew "${name}" have mistakes:\n${list}`);
    },
  });
  // Queries are short: a second thread would cost more in waiting for the first than it saves (docs/decisions/embeddings.md).
  const metrics = createProcessMetrics();
  const shared = await createSharedDependencies({ ...config, POSTBACK_EMBEDDING_THREADS: 1 }, log, {
    opensSecrets: true,
    // Test deliveries. Fetches are made by workers.
    sendsCallbacks: true,
    metrics,
  });
  const client = await connectConfiguredTemporal(config, tracing ? [tracing.client] : []);
  const dependencies = apiDependencies(config, shared, client, crews, metrics);
  const ingestBatcher = createIngestBatcher(dependencies.starters, log);
  const jobBatcher = createJobBatcher(dependencies.starters, log);
  const apps = createApps({
    ...dependencies,
    ingestBatcher,
    jobBatcher,
    traceRequest: tracing?.traceRequest,
    log,
    stopping: stopping.signal,
  });

  const internal =
    config.POSTBACK_INTERNAL_PORT === undefined
      ? undefined
      : apps.internal.listen(config.POSTBACK_INTERNAL_PORT, config.POSTBACK_INTERNAL_HOST);
  if (internal) await once(internal, 'listening');
  const server = createApiServer(apps.api.callback(), {
    slowRequestSeconds: config.POSTBACK_SLOW_REQUEST_SECONDS,
    connectionsPerAddress: config.POSTBACK_CONNECTIONS_PER_ADDRESS,
    trustedProxies: parseAllowedCidrs(config.POSTBACK_TRUSTED_PROXIES),
  });
  server.listen(config.POSTBACK_API_PORT, config.POSTBACK_API_HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  log.info({ host: config.POSTBACK_API_HOST, port }, 'API listening');
  process.send?.({ ready: true, port });
  const endSigns = await showSigns(shared.processes, 'api', [], log, () => sweepNow(client));
  void warnOfOutdatedIndexes(shared, log);
  void warmIndexes(shared, log, stopping.signal);

  await stopped;
  log.info('API stopping');
  exitAfter(DRAIN_MS + CLOSE_MS);
  stopping.abort();
  await closeServer(server);
  await Promise.all([ingestBatcher.close(), jobBatcher.close()]);
  internal?.close();
  internal?.closeAllConnections();
  await endSigns();
  await shared.close();
  await client.connection.close();
  await tracing?.close();
}

/** Loads the search indexes of the newest databases, so that the first query of each does not wait for its index. */
async function warmIndexes(
  { databaseIndexes, index }: SharedDependencies,
  log: Logger,
  stopping: AbortSignal,
): Promise<void> {
  try {
    for (const database of await databaseIndexes.listNewestReady(WARM_DATABASES)) {
      if (stopping.aborted) return;
      // A database may be deleted, or its index cleared for a rebuild, at any time.
      await index
        .warm(tableOf(database._id, database.index))
        .catch((error) => log.debug({ database: database._id, reason: error.message }, 'index not warmed'));
    }
  } catch (error) {
    log.warn({ reason: (error as Error).message }, 'indexes not warmed: first queries are slower');
  }
}

/** The dependencies of the services, from the settings and the connections. */
function apiDependencies(
  config: Config,
  shared: SharedDependencies,
  client: Client,
  { crews, invalidCrews }: CrewCatalogue,
  { registry }: ProcessMetrics,
): Omit<ApiDependencies, 'log' | 'stopping' | 'traceRequest' | 'ingestBatcher' | 'jobBatcher'> {
  // The catalogue only lists providers. The extractor starts no process before a job needs one.
  const catalogue = createAiProviders({
    extractor: createExtractor({ languagesDir: config.POSTBACK_OCR_LANGUAGES_DIR }),
    openai: openAiConfig(config),
  });
  return {
    ...shared,
    hasInternalPort: config.POSTBACK_INTERNAL_PORT !== undefined,
    registry,
    starters: createStarters(client, {
      now: shared.now,
      deadlineMs: TEMPORAL_CALL_MS,
      metrics: createStarterMetrics(registry),
    }),
    temporalUi: config.POSTBACK_TEMPORAL_UI_URL
      ? { url: config.POSTBACK_TEMPORAL_UI_URL.replace(/\/$/, ''), namespace: config.TEMPORAL_NAMESPACE }
      : null,
    temporalReachable: () => temporalReachable(client),
    readiness: (withIndexes) => readReadiness(shared, client, withIndexes),
    retrieval: createRetrieval(shared),
    crews,
    invalidCrews,
    models: configuredLanguageModels(config),
    detectKind: detectFileKind,
    describeFile,
    catalogue,
    publicUrl: config.POSTBACK_PUBLIC_URL ?? null,
    operatorToken: config.POSTBACK_OPERATOR_TOKEN ?? null,
    jobTimeLimitMs: config.POSTBACK_JOB_TIME_LIMIT_SECONDS * 1000,
    uploadRetentionMs: config.POSTBACK_UPLOAD_RETENTION_HOURS * 60 * 60 * 1000,
    loopbackAllowed: judgeAddress('127.0.0.1', parseAllowedCidrs(config.OUTBOUND_ALLOW_CIDRS)).allowed,
    timeoutMs: config.POSTBACK_DELIVERY_TIMEOUT_MS,
    cardNetworks: config.POSTBACK_CARD_NETWORKS,
    eventLimits: {
      connections: config.POSTBACK_EVENT_STREAMS,
      resumeMs: config.POSTBACK_EVENT_RESUME_SECONDS * 1000,
    },
    limits: {
      maxFiles: config.POSTBACK_MAX_FILES,
      maxItems: config.POSTBACK_MAX_ITEMS,
      maxFileBytes: config.POSTBACK_MAX_FILE_BYTES,
      maxRequestBytes: config.POSTBACK_MAX_REQUEST_BYTES,
      maxFieldBytes: config.POSTBACK_MAX_FIELD_BYTES,
    },
    bodyMemoryBytes: config.POSTBACK_BODY_MEMORY_BYTES,
    slowRequests: {
      seconds: config.POSTBACK_SLOW_REQUEST_SECONDS,
      uploadBytesPerSecond: config.POSTBACK_UPLOAD_BYTES_PER_SECOND,
    },
    trustedProxies: parseAllowedCidrs(config.POSTBACK_TRUSTED_PROXIES),
    proxySigns: { untrustedForwarding: false },
    rateLimits: rateLimits(config, shared.rateLimiter),
  };
}

function rateLimits(config: Config, { limit }: RateLimiter): RateLimits {
  const inMinute = (name: string, requests: number) => limit(name, { requests, seconds: 60 });
  return {
    burst: limit('key-second', { requests: config.POSTBACK_RATE_LIMIT_BURST, seconds: 1 }),
    perMinute: inMinute('key-minute', config.POSTBACK_RATE_LIMIT_PER_MINUTE),
    failedLogins: inMinute('failed-logins', config.POSTBACK_FAILED_LOGINS_PER_MINUTE),
    reviews: inMinute('reviews', config.POSTBACK_REVIEW_REQUESTS_PER_MINUTE),
    publishable: inMinute('publishable', config.POSTBACK_PUBLISHABLE_REQUESTS_PER_MINUTE),
    authentication: inMinute('authentication', config.POSTBACK_AUTHENTICATION_REQUESTS_PER_MINUTE),
  };
}

/** Resolves when all requests have finished, or have been cut off after the time limit. */
async function closeServer(server: Server): Promise<void> {
  server.close();
  server.closeIdleConnections();
  const closed = once(server, 'close');
  const deadline = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearTimeout(deadline);
}
