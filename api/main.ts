import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { judgeAddress, parseAllowedCidrs } from '../domain/address-rules.js';
import { createRetrieval } from '../domain/content/retrieval.js';
import { createAiProviders } from '../providers/ai-jobs/index.js';
import { describeFile } from '../providers/extraction/describe-file.js';
import { detectFileKind } from '../providers/extraction/detect-kind.js';
import { createExtractor } from '../providers/extraction/index.js';
import { compose, composeCrews, openAiConfig } from '../runtime/compose.js';
import { readConfig } from '../runtime/config.js';
import { createLogger } from '../runtime/logger.js';
import { runProcess, stopRequested } from '../runtime/process.js';
import { createRateLimit } from '../storage/rate-limits.js';
import { connectTemporal, temporalAccess, temporalReachable } from '../temporal/connection.js';
import { createStarters } from '../temporal/starters.js';
import { createApp } from './app.js';

/** How long a request may take to arrive; Node's own five minutes cut large uploads off. */
const UPLOAD_MS = 60 * 60 * 1000;
/**
 * Longer than clients and load balancers keep idle connections, which is a minute at the most by default: whoever closes
 * first may cut off a request that is on its way. Node's own five seconds make the server the one.
 */
const KEEP_ALIVE_MS = 65_000;
/** How long a request waits for Temporal. The work is on record by then; the reconciler starts it later. */
const TEMPORAL_CALL_MS = 5_000;
/** For an answer to `/readyz`. */
const PING_MS = 2_000;
/** How long requests under way may take to end after the signal to stop. */
const DRAIN_MS = 10_000;

await runProcess(runApi);

/** The API process: serves until it is asked to stop, then lets running requests finish. */
async function runApi(): Promise<void> {
  const stopped = stopRequested();
  const stopping = new AbortController();
  const config = readConfig(process.env);
  const log = createLogger(config.LOG_LEVEL, 'api');
  const { crews, models } = composeCrews(config);
  // Questions are short: a second thread would spend more time on waiting for the first than it saves (decision 20).
  const parts = await compose({ ...config, POSTBACK_EMBEDDING_THREADS: 1 }, log);
  const client = await connectTemporal(config.TEMPORAL_ADDRESS, config.TEMPORAL_NAMESPACE, temporalAccess(config));
  // Only its list is asked for here; it starts no thread before a job needs one.
  const extractor = createExtractor();
  const app = createApp({
    ...parts,
    log,
    stopping: stopping.signal,
    starters: createStarters(client, TEMPORAL_CALL_MS),
    temporalReachable: () => temporalReachable(client),
    retrieval: createRetrieval(parts),
    crews,
    modelLabel: (llm) => models.get(llm).label,
    detectKind: detectFileKind,
    describeFile,
    catalogue: createAiProviders({ extractor, openai: openAiConfig(config) }),
    jobTimeLimitMs: config.POSTBACK_JOB_TIME_LIMIT_SECONDS * 1000,
    uploadRetentionMs: config.POSTBACK_UPLOAD_RETENTION_HOURS * 60 * 60 * 1000,
    authenticationLimit: createRateLimit(parts, 'authentication_requests', {
      requests: config.POSTBACK_AUTHENTICATION_REQUESTS_PER_MINUTE,
      seconds: 60,
    }),
    loopbackAllowed: judgeAddress('127.0.0.1', parseAllowedCidrs(config.OUTBOUND_ALLOW_CIDRS)).allowed,
    timeoutMs: config.POSTBACK_DELIVERY_TIMEOUT_MS,
    limits: {
      maxFiles: config.POSTBACK_MAX_FILES,
      maxItems: config.POSTBACK_MAX_ITEMS,
      maxFileBytes: config.POSTBACK_MAX_FILE_BYTES,
      maxRequestBytes: config.POSTBACK_MAX_REQUEST_BYTES,
      maxFieldBytes: config.POSTBACK_MAX_FIELD_BYTES,
    },
    rateLimits: { perMinute: config.POSTBACK_RATE_LIMIT_PER_MINUTE, burst: config.POSTBACK_RATE_LIMIT_BURST },
    mongoReachable: async () => {
      try {
        // The driver itself would look for a server for longer than a probe waits.
        return await Promise.race([parts.db.command({ ping: 1 }).then(() => true), wait(PING_MS, false)]);
      } catch {
        return false;
      }
    },
  });
  const server = app.listen(config.POSTBACK_API_PORT, config.POSTBACK_API_HOST);
  server.requestTimeout = UPLOAD_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  log.info({ host: config.POSTBACK_API_HOST, port }, 'API listening');
  process.send?.({ ready: true, port });

  await stopped;
  log.info('API stopping');
  stopping.abort();
  server.close();
  server.closeIdleConnections();
  const drained = once(server, 'close');
  const deadline = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await drained;
  clearTimeout(deadline);
  await parts.close();
  await client.connection.close();
}
