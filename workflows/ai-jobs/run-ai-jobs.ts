import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { AiJobActivities } from '../../activities/ai-jobs/run-ai-job.js';
import type { JobGroupRef, JobGroupReport } from '../../domain/ai-jobs/workflow-contract.js';
import { showOutcome } from '../failures.js';

const { runProvidersAtOnce } = proxyLocalActivities<AiJobActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { maximumAttempts: 1 },
  summary: 'Run the providers, store the results and the callbacks',
});

const { separateJobs } = proxyActivities<AiJobActivities>({
  startToCloseTimeout: '1 minute',
  summary: 'Continue each job with a workflow of its own',
  retry: { initialInterval: '2 seconds', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** Quick jobs of one organisation together, each as in `runAiJob`. A job that must be retried is continued by `runAiJob`. */
export async function runAiJobs(group: JobGroupRef): Promise<JobGroupReport> {
  const { left, failed } = await runProvidersAtOnce(group).catch(() => ({ left: group.jobs, failed: 0 }));
  if (left.length > 0) await separateJobs({ ...group, jobs: left });
  if (failed > 0) showOutcome('fail');
  return { succeeded: group.jobs.length - failed - left.length, failed, separated: left.length };
}
