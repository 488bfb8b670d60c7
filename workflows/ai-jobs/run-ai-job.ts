import { CancellationScope, isCancellation, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { AiJobActivities } from '../../activities/ai-jobs/run-ai-job.js';
import {
  CANCELLED,
  JOB_CANCELLED,
  type JobGroupRef,
  type JobGroupReport,
  type JobOutcome,
  type JobRef,
} from '../../domain/ai-jobs/workflow-contract.js';
import { clientFailureOf, showOutcome } from '../failures.js';

const retry = { initialInterval: '2 seconds', backoffCoefficient: 2, maximumInterval: '1 minute' } as const;

// Inside the workflow's first task, which costs the server half the events of an activity.
const { runProviderAtOnce } = proxyLocalActivities<AiJobActivities>({
  startToCloseTimeout: '5 seconds',
  retry: { maximumAttempts: 1 },
  summary: 'Run the provider, store the result and the callback',
});

const { runProvidersAtOnce } = proxyLocalActivities<AiJobActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { maximumAttempts: 1 },
  summary: 'Run the providers, store the results and the callbacks',
});

const { failJob } = proxyActivities<AiJobActivities>({
  startToCloseTimeout: '1 minute',
  summary: 'Store the error and the callback',
  retry,
});

const { separateJobs } = proxyActivities<AiJobActivities>({
  startToCloseTimeout: '1 minute',
  summary: 'Continue each job with a workflow of its own',
  retry,
});

/** One AI job: queued -> processing -> success | fail. Its callback is a delivery, which is a workflow of its own. */
export async function runAiJob(job: JobRef): Promise<JobOutcome> {
  const outcome = await run(job);
  if (outcome.status === 'fail') showOutcome('fail');
  return outcome;
}

/** Quick jobs of one organisation together, each as in `runAiJob`. A job that must be retried is continued by `runAiJob`. */
export async function runAiJobs(group: JobGroupRef): Promise<JobGroupReport> {
  const { left, failed } = await runProvidersAtOnce(group).catch(() => ({ left: group.jobs, failed: 0 }));
  if (left.length > 0) await separateJobs({ ...group, jobs: left });
  if (failed > 0) showOutcome('fail');
  return { succeeded: group.jobs.length - failed - left.length, failed, separated: left.length };
}

async function run(job: JobRef): Promise<JobOutcome> {
  // The activity enforces the time limit over all attempts, and decides which errors are retryable.
  const { runProvider } = proxyActivities<AiJobActivities>({
    startToCloseTimeout: job.time_limit_ms + 60_000,
    heartbeatTimeout: '10 seconds',
    summary: 'Fetch the input, run the provider, store the result and the callback',
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry,
  });
  try {
    const quickOutcome = job.quick ? await runProviderAtOnce(job).catch(() => null) : null;
    const outcome: JobOutcome | null = quickOutcome ?? (await runProvider(job));
    // Executions that were recorded before the activity returned its outcome.
    return outcome ?? { status: 'success' };
  } catch (error) {
    const { error_message, error_code } = clientError(error);
    // A cancelled job sends its callback too.
    await CancellationScope.nonCancellable(() => failJob(job, error_message, error_code));
    return { status: 'fail', error_message };
  }
}

/** The error as the client reads it. */
function clientError(error: unknown): { error_message: string; error_code?: typeof CANCELLED } {
  if (isCancellation(error)) return { error_message: JOB_CANCELLED, error_code: CANCELLED };
  return { error_message: clientFailureOf(error)?.message ?? 'The job failed because of an internal error.' };
}
