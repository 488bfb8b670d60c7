import { WorkflowNotFoundError } from '@temporalio/client';
import { CANCEL_JOB } from '../../domain/ai-jobs/workflow-contract.js';
import type { AiJobRecord } from '../../storage/ai-jobs/job-record.js';
import { workflowIds } from '../workflow-ids.js';
import { ownedBy, type WorkflowStarter } from '../workflow-starter.js';

/** What starting its workflow needs of a job. */
type StartedJob = Pick<
  AiJobRecord,
  '_id' | 'org' | 'feature' | 'subfeature' | 'provider' | 'time_limit_ms' | 'quick' | 'group'
>;

export type JobStarters = ReturnType<typeof createJobStarters>;

/** Starts and cancels the workflows of AI jobs. */
export function createJobStarters({ client, call, start }: WorkflowStarter) {
  return {
    /** Starts the workflow of jobs that share one: a lone job, or the known members of a group, all or those whose work is lost. */
    async startJobs(jobs: readonly StartedJob[]): Promise<void> {
      const [job] = jobs as [StartedJob];
      const { org, quick } = job;
      const ids = jobs.map(({ _id }) => _id);
      const models = new Set(jobs.map(({ feature, subfeature, provider }) => `${feature}/${subfeature}/${provider}`));
      const model = [...models].join(', ');
      await start('runAiJobs', {
        workflowId: workflowIds.job(job),
        // A later run has those that an earlier one has lost; finished ones are skipped.
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        taskQueue: 'ai',
        args: [
          {
            org,
            jobs: ids,
            time_limit_ms: Math.max(...jobs.map(({ time_limit_ms }) => time_limit_ms)),
            ...(quick ? { quick } : {}),
          },
        ],
        staticSummary: jobs.length === 1 ? model : `Run ${ids.length} quick jobs`,
        ...ownedBy({ org, source: ids, ...(models.size === 1 ? { model } : {}) }),
      });
    },

    /** Requests cancellation of a job; does nothing when its workflow has ended or never started. */
    async cancelJob(job: StartedJob): Promise<void> {
      try {
        await call(() => client.workflow.getHandle(workflowIds.job(job)).signal(CANCEL_JOB, job._id));
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    },
  };
}
