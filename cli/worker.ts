import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { NativeConnection } from '@temporalio/worker';
import type { Registry } from 'prom-client';
import { createContentActivities } from '../activities/content.js';
import { createCrewActivities } from '../activities/crews/run-crew.js';
import { createDatabaseActivities } from '../activities/databases.js';
import { createDeliveryActivities } from '../activities/deliver-webhook.js';
import { createIndexRowsActivities } from '../activities/refresh-index-rows.js';
import { createRemovalActivities } from '../activities/remove-items.js';
import { createAiJobActivities } from '../activities/run-ai-job.js';
import { createSweepActivities } from '../activities/sweep.js';
import { createSyncActivities } from '../activities/sync-connector.js';
import { readConfig } from '../config.js';
import { SEARCH_ATTRIBUTES, type TaskQueue } from '../domain/task-queues.js';
import { createAiProviders } from '../providers/ai/index.js';
import { createSources } from '../providers/connectors/index.js';
import { describeFile } from '../providers/extraction/describe-file.js';
import { detectFileKind } from '../providers/extraction/detect-kind.js';
import { createExtractor } from '../providers/extraction/index.js';
import { createGraphExtractor } from '../providers/graph/index.js';
import { identifySelf, isAlive } from '../stack/process-identity.js';
import { createRetrieval } from '../storage/retrieval.js';
import { createScratch } from '../storage/scratch.js';
import { connectTemporal, registerSearchAttributes, temporalAccess } from '../temporal/connection.js';
import { createLauncher } from '../temporal/launcher.js';
import { workflowBundle } from '../worker/bundle.js';
import { installTemporalLogger } from '../worker/logging.js';
import { createWorkerMetrics } from '../worker/metrics.js';
import { createWorkers } from '../worker/workers.js';
import { openAiConfig } from './ai-providers.js';
import { createCallbacks } from './callbacks.js';
import { compose } from './compose.js';
import { composeCrews } from './crews.js';
import { createLogger } from './logger.js';
import { untilStopped } from './until-stopped.js';

/** For first attempts that have outlived their workflow task; a receiver that hangs on loses its attempt. */
const DRAIN_MS = 5_000;

/** The worker process: runs the workers of its task queues until it is told to stop. @param queues comma-separated */
export async function runWorker(queues?: string): Promise<void> {
  const stopped = untilStopped();
  const config = readConfig(queues === undefined ? process.env : { ...process.env, POSTBACK_QUEUES: queues });
  const log = createLogger(config.LOG_LEVEL, 'worker');
  installTemporalLogger(log);
  const { models } = composeCrews(config);
  const parts = await compose(config, log);
  const access = temporalAccess(config);
  const client = await connectTemporal(config.TEMPORAL_ADDRESS, config.TEMPORAL_NAMESPACE, access);
  if (!(await registerSearchAttributes(client, config.TEMPORAL_NAMESPACE)))
    log.warn(
      { needed: SEARCH_ATTRIBUTES },
      'Temporal does not let search attributes be registered: have them made, or no work starts',
    );
  const launcher = createLauncher(client);
  const connection = await NativeConnection.connect({ address: config.TEMPORAL_ADDRESS, ...access });
  const bundle = await workflowBundle();

  const extractor = createExtractor();
  const graphExtractor = createGraphExtractor();
  const providers = createAiProviders({ extractor, openai: openAiConfig(config) });
  const metrics = createWorkerMetrics();
  const scratch = createScratch({ dir: tmpdir(), own: identifySelf(), isAlive });
  const abandoned = await scratch.removeAbandoned();
  if (abandoned > 0) log.info({ folders: abandoned }, 'removed what killed processes had left in the temporary folder');
  const world = { ...parts, log, metrics, launcher, scratch, extractor, graphExtractor };
  const has = (queue: TaskQueue) => config.POSTBACK_QUEUES.includes(queue);
  const delivering = createDeliveryActivities({
    ...world,
    callbacks: createCallbacks(config, world),
    random: Math.random,
    now: () => new Date(),
  });
  const workers = await createWorkers({
    connection,
    namespace: config.TEMPORAL_NAMESPACE,
    bundle,
    queues: config.POSTBACK_QUEUES,
    activities: {
      content: {
        ...createContentActivities({ ...world, mongo: parts.mongo.client }),
        ...createDatabaseActivities(world),
        ...createRemovalActivities(world),
        ...createIndexRowsActivities(world),
        ...createSweepActivities({ ...world, quietMs: config.POSTBACK_SWEEP_QUIET_SECONDS * 1000 }),
      },
      ai: createAiJobActivities({
        ...world,
        mongo: parts.mongo.client,
        providers,
        describeFile,
        maxFileBytes: config.POSTBACK_MAX_FILE_BYTES,
        fetchTimeoutMs: config.POSTBACK_FETCH_TIMEOUT_SECONDS * 1000,
      }),
      connectors: createSyncActivities({
        ...world,
        mongo: parts.mongo.client,
        detectKind: detectFileKind,
        openSource: createSources(parts.outbound, {
          timeoutMs: config.POSTBACK_CONNECTOR_TIMEOUT_SECONDS * 1000,
          maxBytes: config.POSTBACK_CONNECTOR_MAX_RESOURCE_BYTES,
        }),
        maxResources: config.POSTBACK_CONNECTOR_MAX_RESOURCES,
      }),
      crews: createCrewActivities({
        ...world,
        mongo: parts.mongo.client,
        models,
        describeFile,
        retrieval: createRetrieval(parts),
      }),
      deliveries: delivering.activities,
    },
  });
  if (has('content')) await launcher.ensureSweepSchedule(config.POSTBACK_SWEEP_SECONDS);

  const running = Promise.all(workers.map((worker) => worker.run()));
  const health = serveHealth(config.POSTBACK_WORKER_HEALTH_PORT, metrics.registry);
  log.info({ queues: config.POSTBACK_QUEUES }, 'workers running');
  process.send?.({ ready: true });

  await Promise.race([stopped, running]);
  log.info('workers stopping');
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  await running;
  const enough = new AbortController();
  await Promise.race([delivering.drain(), wait(DRAIN_MS, undefined, { signal: enough.signal })]);
  enough.abort();
  health?.close();
  await Promise.allSettled([providers.close(), extractor.close(), graphExtractor.close()]);
  await parts.close();
  await connection.close();
  await client.connection.close();
}

/** `/metrics` for Prometheus; anything else, for container health checks, is answered as long as the event loop turns. */
function serveHealth(port: number | undefined, registry: Registry) {
  if (port === undefined) return undefined;
  return createServer(async (request, response) => {
    if (request.url !== '/metrics') response.end('{"status":"ok"}');
    else response.setHeader('Content-Type', registry.contentType).end(await registry.metrics());
  }).listen(port);
}
