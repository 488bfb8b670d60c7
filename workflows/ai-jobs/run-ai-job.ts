import { CancellationScope, isCancellation, proxyActivities } from '@temporalio/workflow';
import type { AiJobActivities } from '../../activities/ai-jobs/run-ai-job.js';
import { JOB_CANCELLED, type JobOutcome, type JobRef } from '../../domain/ai-jobs/workflow-contract.js';
import { clientFailureOf } from '../failures.js';
import { showOutcome } from '../outcome.js';

const retry = { initialInterval: '2 seconds', backoffCoefficient: 2, maximumInterval: '1 minute' } as const;

const { failJob } = proxyActivities<AiJobActivities>({
  startToCloseTimeout: '1 minute',
  summary: 'Write that it failed, and the callback',
  retry,
});

/** One AI job: queued -> processing -> success | fail. Its callback is a delivery, whose workflow lives on its own. */
export async function runAiJob(job: JobRef): Promise<JobOutcome> {
  // The activity keeps the time limit over all attempts, and decides which errors are worth a retry.
  const { runProvider } = proxyActivities<AiJobActivities>({
    startToCloseTimeout: job.time_limit_ms + 60_000,
    heartbeatTimeout: '15 seconds',
    summary: 'Fetch the input, run the provider, store and announce the result',
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry,
  });
  try {
    await runProvider(job);
    return { status: 'success' };
  } catch (error) {
    // A cancelled job has ended too, and whoever waits for its callback is told.
    await CancellationScope.nonCancellable(() => failJob(job, reason(error)));
    showOutcome('fail');
    return { status: 'fail', error_message: reason(error) };
  }
}

/** What the client reads. */
function reason(error: unknown): string {
  if (isCancellation(error)) return JOB_CANCELLED;
  return clientFailureOf(error)?.message ?? 'The job failed for an internal reason.';
}
