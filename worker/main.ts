import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { NativeConnection } from '@temporalio/worker';
import type { Registry } from 'prom-client';
import { createAiJobActivities } from '../activities/ai-jobs/run-ai-job.js';
import { createSyncActivities } from '../activities/connectors/sync-connector.js';
import { createIndexRowsActivities, createRemovalActivities } from '../activities/content/clear-items.js';
import { createDatabaseActivities } from '../activities/content/databases.js';
import { createContentActivities } from '../activities/content/index-item.js';
import { createCrewActivities } from '../activities/crews/run-crew.js';
import { createReconcileActivities } from '../activities/reconcile.js';
import { createDeliveryActivities } from '../activities/webhooks/deliver-webhook.js';
import { createRetrieval } from '../domain/content/retrieval.js';
import { SEARCH_ATTRIBUTE_TYPES } from '../domain/search-attributes.js';
import type { TaskQueue } from '../domain/task-queues.js';
import { createAiProviders } from '../providers/ai-jobs/index.js';
import { createSources } from '../providers/connectors/index.js';
import { describeFile } from '../providers/extraction/describe-file.js';
import { detectFileKind } from '../providers/extraction/detect-kind.js';
import { createExtractor } from '../providers/extraction/index.js';
import { createGraphExtractor } from '../providers/graph/index.js';
import { compose, composeCrews, openAiConfig } from '../runtime/compose.js';
import { readConfig } from '../runtime/config.js';
import { createLogger } from '../runtime/logger.js';
import { runProcess, stopRequested } from '../runtime/process.js';
import { identifySelf, isAlive } from '../runtime/process-identity.js';
import { createScratch } from '../storage/scratch.js';
import { connectTemporal, registerSearchAttributes, temporalAccess } from '../temporal/connection.js';
import { ensureReconcileSchedule } from '../temporal/reconciler.js';
import { createStarters } from '../temporal/starters.js';
import { workflowBundle } from './bundle.js';
import { createCallbacks } from './callbacks.js';
import { installTemporalLogger } from './logging.js';
import { createWorkerMetrics } from './metrics.js';
import { staleWorkOf } from './stale-work.js';
import { createWorkers } from './workers.js';

/** For first attempts that have outlived their workflow task; a receiver that hangs on loses its attempt. */
const DRAIN_MS = 5_000;

await runProcess(runWorker);

/** The worker process: runs the workers of its task queues (POSTBACK_QUEUES) until it is asked to stop. */
async function runWorker(): Promise<void> {
  const stopped = stopRequested();
  const config = readConfig(process.env);
  const log = createLogger(config.LOG_LEVEL, 'worker');
  installTemporalLogger(log);
  const { models } = composeCrews(config);
  const parts = await compose(config, log);
  const access = temporalAccess(config);
  const client = await connectTemporal(config.TEMPORAL_ADDRESS, config.TEMPORAL_NAMESPACE, access);
  if (!(await registerSearchAttributes(client, config.TEMPORAL_NAMESPACE)))
    log.warn(
      { needed: SEARCH_ATTRIBUTE_TYPES },
      'not allowed to register search attributes: an operator has to, or no work starts',
    );
  const starters = createStarters(client);
  const connection = await NativeConnection.connect({ address: config.TEMPORAL_ADDRESS, ...access });
  const bundle = await workflowBundle();

  const extractor = createExtractor();
  const graphExtractor = createGraphExtractor();
  const providers = createAiProviders({ extractor, openai: openAiConfig(config) });
  const metrics = createWorkerMetrics();
  const scratch = createScratch({ dir: tmpdir(), own: identifySelf(), isAlive });
  const abandoned = await scratch.removeAbandoned();
  if (abandoned > 0) log.info({ folders: abandoned }, 'removed temporary folders of killed processes');
  const world = { ...parts, log, metrics, starters, scratch, extractor, graphExtractor };
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
        ...createContentActivities(world),
        ...createDatabaseActivities(world),
        ...createRemovalActivities(world),
        ...createIndexRowsActivities(world),
        ...createReconcileActivities({
          ...world,
          staleWork: staleWorkOf(parts, starters),
          quietMs: config.POSTBACK_RECONCILE_QUIET_SECONDS * 1000,
        }),
      },
      ai: createAiJobActivities({
        ...world,
        providers,
        describeFile,
        maxFileBytes: config.POSTBACK_MAX_FILE_BYTES,
        fetchTimeoutMs: config.POSTBACK_FETCH_TIMEOUT_SECONDS * 1000,
      }),
      connectors: createSyncActivities({
        ...world,
        detectKind: detectFileKind,
        openSource: createSources(parts.outbound, {
          timeoutMs: config.POSTBACK_CONNECTOR_TIMEOUT_SECONDS * 1000,
          maxBytes: config.POSTBACK_CONNECTOR_MAX_RESOURCE_BYTES,
        }),
        maxResources: config.POSTBACK_CONNECTOR_MAX_RESOURCES,
      }),
      crews: createCrewActivities({
        ...world,
        models,
        describeFile,
        retrieval: createRetrieval(parts),
      }),
      deliveries: delivering.activities,
    },
  });
  if (has('content')) await ensureReconcileSchedule(client, config.POSTBACK_RECONCILE_SECONDS);

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
