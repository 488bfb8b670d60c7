import type { TelemetryOptions, Worker } from '@temporalio/worker';
import { settledWithin } from '../domain/shared-calls.js';
import { takeConfig } from '../runtime/config.js';
import { createLogger } from '../runtime/logger.js';
import { exitAfter, runProcess, stopRequested } from '../runtime/process.js';
import { showSigns } from '../runtime/process-signs.js';
import { readReadiness, warnOfOutdatedIndexes } from '../runtime/readiness.js';
import { startTracing } from '../runtime/tracing.js';
import { ensureReconcileSchedules, sweepNow } from '../temporal/reconciler.js';
import { deploymentVersion } from '../temporal/worker-deployment.js';
import { createActivities } from './activities.js';
import { workflowBuildId, workflowBundle } from './bundle.js';
import { createWorkerDependencies } from './dependencies.js';
import { installTemporalLogger } from './logging.js';
import { serveProbes } from './probes.js';
import { startSdkMetrics } from './sdk-metrics.js';
import { createWorkers } from './workers.js';

/** How long closing the connections may take after the running work. */
const CLOSE_MS = 5_000;

await runProcess(runWorker);

/** The worker process: runs the workers of its task queues (POSTBACK_QUEUES) until it is asked to stop. */
async function runWorker(): Promise<void> {
  const stopped = stopRequested();
  const config = takeConfig(process.env);
  const { POSTBACK_QUEUES: queues, TEMPORAL_NAMESPACE: namespace } = config;
  const tracing = await startTracing(config, 'worker');
  const log = createLogger(config.LOG_LEVEL, 'worker', tracing?.logFields);
  const healthPort = config.POSTBACK_WORKER_HEALTH_PORT;
  const install = (options?: TelemetryOptions['metrics']) => installTemporalLogger(log, options);
  const sdkMetrics = healthPort === undefined ? install() : await startSdkMetrics(install);

  const dependencies = await createWorkerDependencies(config, log, tracing);
  const { client, connection, dataConverter, metrics } = dependencies;
  const { activities, sender, cancelAttempts } = createActivities(config, dependencies);
  const bundle = await workflowBundle();
  const graceMs = config.POSTBACK_SHUTDOWN_SECONDS * 1000;
  const workers = await createWorkers({
    connection,
    namespace,
    dataConverter,
    bundle,
    queues,
    activities,
    graceMs,
    tracing,
    ...(config.POSTBACK_WORKER_VERSIONING === 'on' ? { version: deploymentVersion(workflowBuildId()) } : {}),
    log,
  });
  if (queues.includes('content')) await warnOfOutdatedIndexes(dependencies, log);
  if (queues.includes('control')) {
    await ensureReconcileSchedules(client, config.POSTBACK_RECONCILE_SECONDS);
    await dependencies.processes.expectSweeps();
  }

  const running = Promise.all(workers.map((worker) => worker.run()));
  if (queues.includes('deliveries')) sender.start();
  const endSigns = await showSigns(dependencies.processes, 'worker', queues, log, () => sweepNow(client));
  const probes = serveProbes(healthPort, {
    metrics: async () => `${await metrics.registry.metrics()}\n${await sdkMetrics?.read()}`,
    readiness: () => readReadiness(dependencies, client, true),
  });
  log.info({ queues }, 'workers running');
  process.send?.({ ready: true });

  await Promise.race([stopped, running]);
  log.info('workers stopping');
  exitAfter(graceMs + CLOSE_MS);
  shutDown(workers);
  const finished = Promise.all([running, sender.stop()]);
  await settledWithin(finished, graceMs);
  await cancelAttempts();
  await finished;
  probes?.close();
  await endSigns();
  await dependencies.close();
  await tracing?.close();
}

function shutDown(workers: readonly Worker[]): void {
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
}
