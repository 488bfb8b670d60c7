import {
  CancellationScope,
  defineSignal,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
} from '@temporalio/workflow';
import type { AiJobActivities } from '../../activities/ai-jobs/run-ai-job.js';
import {
  CANCEL_JOB,
  CANCELLED,
  JOB_CANCELLED,
  type JobOutcome,
  type JobsAttempt,
  type JobsRef,
  type JobsReport,
} from '../../domain/ai-jobs/workflow-contract.js';
import { clientFailureOf, showOutcome } from '../failures.js';

const cancelJob = defineSignal<[string]>(CANCEL_JOB);

const retry = { initialInterval: '2 seconds', backoffCoefficient: 2, maximumInterval: '1 minute' } as const;

// Inside the workflow's first task, which costs the server half the events of an activity.
const { runAtOnce } = proxyLocalActivities<AiJobActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { maximumAttempts: 1 },
  summary: 'Run the provider, store the result and the callback',
});

const { failJob } = proxyActivities<AiJobActivities>({
  startToCloseTimeout: '1 minute',
  summary: 'Store the error and the callback',
  retry,
});

/**
 * AI jobs of one organisation, one or many quick ones: queued -> processing -> success | fail. Quick jobs are run together at
 * once; those that are left continue one by one. Callbacks are deliveries, which are workflows of their own.
 */
export async function runAiJobs(work: JobsRef): Promise<JobsReport> {
  const scopes = new Map(work.jobs.map((job) => [job, new CancellationScope()]));
  setHandler(cancelJob, (job) => scopes.get(job)?.cancel());
  const { left, ...report } = await firstAttempt(work);
  await Promise.all(
    left.map(async (job) => {
      const { status, error_message } = await runToEnd(work, job, scopes.get(job)!);
      if (status === 'success') report.succeeded += 1;
      else report.failed.push({ job, error_message });
    }),
  );
  if (report.failed.length > 0) showOutcome('fail');
  return report;
}

async function firstAttempt(work: JobsRef): Promise<JobsAttempt> {
  const none = { succeeded: 0, failed: [], left: work.jobs };
  return work.quick ? runAtOnce(work).catch(() => none) : none;
}

async function runToEnd({ org, time_limit_ms }: JobsRef, job: string, scope: CancellationScope): Promise<JobOutcome> {
  // The activity enforces the time limit over all attempts, and decides which errors are retryable.
  const { runProvider } = proxyActivities<AiJobActivities>({
    startToCloseTimeout: time_limit_ms + 60_000,
    heartbeatTimeout: '10 seconds',
    summary: 'Fetch the input, run the provider, store the result and the callback',
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry,
  });
  try {
    return await scope.run(() => runProvider({ org, job }));
  } catch (error) {
    const { error_message, error_code } = clientError(error);
    // A cancelled job sends its callback too.
    return CancellationScope.nonCancellable(() => failJob({ org, job }, error_message, error_code));
  }
}

/** The error as the client reads it. */
function clientError(error: unknown): { error_message: string; error_code?: typeof CANCELLED } {
  if (isCancellation(error)) return { error_message: JOB_CANCELLED, error_code: CANCELLED };
  return { error_message: clientFailureOf(error)?.message ?? 'The job failed because of an internal error.' };
}
