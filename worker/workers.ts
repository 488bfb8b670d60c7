import { type NativeConnection, Worker, type WorkerOptions, type WorkflowBundle } from '@temporalio/worker';
import type { TaskQueue } from '../domain/task-queues.js';

/** What the delivery worker does at once; the bench runs its bare worker with the same. */
export const DELIVERY_TUNING: Partial<WorkerOptions> = {
  // Deliveries wait for other people's servers; half of these slots are kept from the slow ones.
  maxConcurrentActivityTaskExecutions: 500,
  maxConcurrentLocalActivityExecutions: 100,
  // A first attempt holds one for as long as it lasts.
  maxConcurrentWorkflowTaskExecutions: 100,
  maxCachedWorkflows: 200,
  workflowThreadPoolSize: 1,
};

/** What each queue's worker does at once. */
const TUNING: Record<TaskQueue, Partial<WorkerOptions>> = {
  // Embedding and parsing keep the cores busy; more items side by side only cost memory.
  content: {
    maxConcurrentActivityTaskExecutions: 16,
    maxConcurrentWorkflowTaskExecutions: 20,
    maxCachedWorkflows: 100,
  },
  // Local providers queue for their threads, remote ones wait for other people's servers.
  ai: {
    maxConcurrentActivityTaskExecutions: 20,
    maxConcurrentWorkflowTaskExecutions: 20,
    maxCachedWorkflows: 100,
    // A cancellation is heard of with a heartbeat.
    maxHeartbeatThrottleInterval: '2 seconds',
  },
  // Agents wait for models and pages; an execution that waits for a person needs no place in memory.
  crews: {
    maxConcurrentActivityTaskExecutions: 40,
    maxConcurrentWorkflowTaskExecutions: 20,
    maxCachedWorkflows: 100,
  },
  // Syncs wait for other people's servers, and for as long as those ask for between two requests.
  connectors: {
    maxConcurrentActivityTaskExecutions: 20,
    maxConcurrentWorkflowTaskExecutions: 20,
    maxCachedWorkflows: 100,
  },
  deliveries: DELIVERY_TUNING,
};

export interface QueueActivities {
  content: object;
  ai: object;
  crews: object;
  connectors: object;
  deliveries: object;
}

/** One worker a task queue; any subset of the queues runs in one process. */
export async function createWorkers(options: {
  connection: NativeConnection;
  namespace: string;
  bundle: WorkflowBundle;
  queues: readonly TaskQueue[];
  activities: Partial<QueueActivities>;
}): Promise<Worker[]> {
  return Promise.all(
    options.queues.map((taskQueue) =>
      Worker.create({
        connection: options.connection,
        namespace: options.namespace,
        taskQueue,
        workflowBundle: options.bundle,
        activities: options.activities[taskQueue],
        workflowThreadPoolSize: 1,
        shutdownGraceTime: '5 seconds',
        ...TUNING[taskQueue],
      }),
    ),
  );
}
