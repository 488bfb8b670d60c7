import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import type { TaskQueue } from '../domain/workflow-contract.js';
import type * as workflows from '../workflows/index.js';
import { WORKFLOW_DETAILS } from './workflow-details.js';
import { createWorkflowStarter } from './workflow-starter.js';

/**
 * The jobs of the reconciler, by schedule. Each has a schedule of its own, because a schedule skips its runs while one is
 * running: a long compaction must not delay the start of missing workflows. A run that is stuck would be the last, so it ends.
 */
const JOBS = {
  reconcile: {
    workflowType: 'reconcile',
    staticSummary: 'Start work whose workflow is missing',
    workflowRunTimeout: '10 minutes',
  },
  'drop-abandoned-files': {
    workflowType: 'dropAbandonedFiles',
    staticSummary: 'Delete files that belong to nobody',
    workflowRunTimeout: '6 hours',
  },
  'compact-search-index': {
    workflowType: 'compactSearchIndex',
    staticSummary: 'Compact the search index',
    workflowRunTimeout: '6 hours',
  },
} as const satisfies Record<string, { workflowType: keyof typeof workflows; [option: string]: string }>;

/** How long an API takes at most to start what it has stored: groups of small work wait for more. */
const STARTS_WITHIN_MS = 3_000;

/** Starts the work that an API has left behind, without waiting until it is quiet. Does nothing when that runs already. */
export async function sweepNow(client: Client): Promise<void> {
  await createWorkflowStarter(client).start('reconcile', {
    workflowId: 'sweep-now',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    taskQueue: 'control',
    startDelay: STARTS_WITHIN_MS,
    workflowRunTimeout: JOBS.reconcile.workflowRunTimeout,
    args: [{ quiet_ms: STARTS_WITHIN_MS }],
    staticSummary: 'Start work that a process has left behind',
  });
}

/**
 * Creates or updates the schedules of the reconciler.
 * @param everySeconds the interval between two runs
 */
export async function ensureReconcileSchedules(client: Client, everySeconds: number): Promise<void> {
  const spec = { intervals: [{ every: everySeconds * 1000 }] };
  for (const [id, job] of Object.entries(JOBS)) {
    const taskQueue: TaskQueue = 'control';
    const action = {
      type: 'startWorkflow' as const,
      ...job,
      staticDetails: WORKFLOW_DETAILS[job.workflowType],
      workflowId: id,
      taskQueue,
      args: [],
    };
    try {
      await client.schedule.create({
        scheduleId: id,
        spec,
        policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
        action,
      });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await client.schedule.getHandle(id).update((previous) => ({ ...previous, spec, action }));
    }
  }
}
