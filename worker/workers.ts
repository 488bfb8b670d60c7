import type { DataConverter, WorkerDeploymentVersion } from '@temporalio/common';
import {
  type NativeConnection,
  type Logger as SdkLogger,
  Worker,
  type WorkerOptions,
  type WorkflowBundle,
} from '@temporalio/worker';
import type { CompiledWorkerOptions } from '@temporalio/worker/lib/worker-options.js';
import type { WorkflowCreator } from '@temporalio/worker/lib/workflow/interface.js';
import type { WorkflowBundleWithSourceMapAndFilename as Bundle } from '@temporalio/worker/lib/workflow/workflow-worker-thread/input.js';
import type { Logger } from 'pino';
import { createFailureInterceptor } from '../activities/failures.js';
import { FILE_QUEUE, GROUP_QUEUE } from '../domain/content/workflow-contract.js';
import type { TaskQueue } from '../domain/workflow-contract.js';
import type { Tracing } from '../runtime/open-telemetry.js';

/** Attempts that a worker of deliveries can have in progress. */
export const DELIVERY_SLOTS = { first: 100, all: 500 } as const;

/** Concurrency of the delivery worker. The benchmark's bare worker has the same. */
export const DELIVERY_TUNING: Partial<WorkerOptions> = {
  maxConcurrentActivityTaskExecutions: DELIVERY_SLOTS.all,
  maxConcurrentLocalActivityExecutions: DELIVERY_SLOTS.first,
  // A first attempt occupies a workflow task while it lasts.
  maxConcurrentWorkflowTaskExecutions: DELIVERY_SLOTS.first,
  maxCachedWorkflows: 200,
  workflowThreadPoolSize: 1,
};

/** How soon the work of a killed worker continues elsewhere. */
const TAKEOVER: Partial<WorkerOptions> = {
  // Each heartbeat is sent, so that timeouts can be short, and a cancellation arrives with the next. The default is four
  // fifths of the timeout: one late heartbeat would count as a dead worker.
  maxHeartbeatThrottleInterval: '2 seconds',
  // How long a workflow waits for the worker that has it in memory. Then any other replays it.
  stickyQueueScheduleToStartTimeout: '5 seconds',
};

/** Concurrency of a worker with so many slots for activities. */
const usual = (activities: number): Partial<WorkerOptions> => ({
  maxConcurrentActivityTaskExecutions: activities,
  maxConcurrentWorkflowTaskExecutions: 20,
  maxCachedWorkflows: 100,
});

/** Concurrency of each queue's worker. */
const TUNING: Record<TaskQueue, Partial<WorkerOptions>> = {
  // Embedding and parsing keep the cores busy; more items at the same time only cost memory.
  content: usual(16),
  // Local providers queue for their processes, remote providers wait for other servers.
  ai: usual(20),
  // Agents wait for models and pages. An execution that waits for a person needs no memory.
  crews: usual(40),
  // Syncs wait for other servers, and between two requests for as long as those servers demand.
  connectors: usual(20),
  deliveries: DELIVERY_TUNING,
  // Deleting a large database or connector takes long. There are many slots, so that short steps find a free slot.
  control: usual(50),
};

/**
 * Slots of the long activities of content: groups of items, which keep the cores busy with embeddings, and files, most of
 * which wait for a process that reads them. Notes have the slots of `content`, and wait behind none of these.
 */
const LONG_SLOTS = { [GROUP_QUEUE]: 3, [FILE_QUEUE]: 16 } as const;
type LongQueue = keyof typeof LONG_SLOTS;

/** Creates one worker per task queue, and those of the long activities. Any subset of the queues can run in one process. */
export async function createWorkers(options: {
  connection: NativeConnection;
  namespace: string;
  dataConverter?: DataConverter;
  bundle: WorkflowBundle;
  queues: readonly TaskQueue[];
  activities: Readonly<Record<TaskQueue | LongQueue, object>>;
  /** After a shutdown was requested: milliseconds until running activities are cancelled. */
  graceMs: number;
  /** Set: the workers get tasks only when this is the current version of their deployment. */
  version?: WorkerDeploymentVersion;
  tracing?: Pick<Tracing, 'activity' | 'sinks'> | undefined;
  log: Pick<Logger, 'warn'>;
}): Promise<Worker[]> {
  const {
    connection,
    namespace,
    dataConverter = {},
    bundle,
    queues,
    activities,
    graceMs,
    version,
    tracing,
    log,
  } = options;
  const ProcessWorker = workerWithSharedSandbox(queues.map((queue) => activities[queue]));
  const long = queues.includes('content') ? ([GROUP_QUEUE, FILE_QUEUE] as const) : [];
  const optionsOf = (taskQueue: TaskQueue | LongQueue): WorkerOptions => ({
    connection,
    namespace,
    dataConverter,
    taskQueue,
    activities: activities[taskQueue],
    ...versioning(version),
    // Spans get only the errors that histories get.
    interceptors: { activity: [...(tracing ? [tracing.activity] : []), createFailureInterceptor(log)] },
    shutdownGraceTime: graceMs,
    ...TAKEOVER,
  });
  return Promise.all([
    // These run activities of workflows that are on the queue `content`.
    ...long.map((taskQueue) =>
      Worker.create({ ...optionsOf(taskQueue), maxConcurrentActivityTaskExecutions: LONG_SLOTS[taskQueue] }),
    ),
    ...queues.map((taskQueue) =>
      ProcessWorker.create({
        ...optionsOf(taskQueue),
        workflowBundle: bundle,
        sinks: tracing?.sinks ?? NOT_TRACED,
        workflowThreadPoolSize: 1,
        ...TUNING[taskQueue],
      }),
    ),
  ]);
}

/** Workflows that a traced process has started report their end, also to workers without traces. */
const NOT_TRACED: Tracing['sinks'] = { tracing: { ended: { fn: () => undefined, callDuringReplay: false } } };

/** Open executions continue on the workers of the current version. */
function versioning(version: WorkerDeploymentVersion | undefined): Partial<WorkerOptions> {
  if (version === undefined) return {};
  return {
    workerDeploymentOptions: { version, useWorkerVersioning: true, defaultVersioningBehavior: 'AUTO_UPGRADE' },
  };
}

/**
 * Makes a Temporal worker class whose instances run their workflows in one sandbox. Without this each worker parses the
 * bundle and starts a thread that loads the SDK and all workflows, for code that is the same in all.
 * @param activities of all workers that share the sandbox: workflows may call those of any of them as local activities
 */
function workerWithSharedSandbox(activities: readonly object[]): typeof Worker {
  const allActivities = new Map(activities.flatMap((functions) => Object.entries(functions)));
  let parsed: Promise<Bundle | undefined> | undefined;
  let sandbox: Promise<WorkflowCreator> | undefined;
  let users = 0;

  return class extends Worker {
    protected static override getOrCreateBundle(
      options: CompiledWorkerOptions,
      logger: SdkLogger,
    ): Promise<Bundle | undefined> {
      parsed ??= Worker.getOrCreateBundle(options, logger);
      return parsed;
    }

    protected static override async createWorkflowCreator(
      bundle: Bundle,
      options: CompiledWorkerOptions,
      logger: SdkLogger,
    ): Promise<WorkflowCreator> {
      users++;
      sandbox ??= Worker.createWorkflowCreator(bundle, { ...options, activities: allActivities }, logger);
      const shared = await sandbox;
      return {
        createWorkflow: (workflow) => shared.createWorkflow(workflow),
        destroy: async () => {
          if (--users === 0) await shared.destroy();
        },
      };
    }
  };
}
