import { WorkflowNotFoundError } from '@temporalio/client';
import { workflowIds } from '../workflow-ids.js';
import { ownedBy, type WorkflowStarter } from '../workflow-starter.js';

/** The fields of a job that starting its workflow needs; a subset of `AiJobRecord`. */
export interface StartJobInput {
  _id: string;
  org: string;
  feature: string;
  subfeature: string;
  provider: string;
  time_limit_ms: number;
  quick: boolean;
  group?: string | undefined;
}

export type JobStarters = ReturnType<typeof createJobStarters>;

/** Starts and cancels the workflows of AI jobs. */
export function createJobStarters({ client, call, start }: WorkflowStarter) {
  return {
    async startJob({ _id, org, feature, subfeature, provider, time_limit_ms, quick }: StartJobInput): Promise<void> {
      const model = `${feature}/${subfeature}/${provider}`;
      await start('runAiJob', {
        workflowId: workflowIds.job(_id),
        taskQueue: 'ai',
        args: [{ job: _id, org, time_limit_ms, ...(quick ? { quick } : {}) }],
        staticSummary: model,
        ...ownedBy({ org, source: _id, model }),
      });
    },

    /**
     * Starts the workflow of a group of quick jobs.
     * @param jobs members of one group; all, or those whose work is lost
     */
    async startJobs(jobs: readonly StartJobInput[]): Promise<void> {
      const { org, group } = jobs[0]!;
      const ids = jobs.map(({ _id }) => _id);
      await start('runAiJobs', {
        workflowId: workflowIds.jobGroup(org, group!),
        // A later run has those that an earlier one has lost; finished ones are skipped.
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        taskQueue: 'ai',
        args: [{ group: group!, org, jobs: ids }],
        staticSummary: `Run ${ids.length} quick jobs`,
        ...ownedBy({ org, source: ids }),
      });
    },

    /** Requests cancellation of a job's workflow; does nothing when the workflow has ended or never started. */
    async cancelJob(jobId: string): Promise<void> {
      try {
        await call(() => client.workflow.getHandle(workflowIds.job(jobId)).cancel());
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    },
  };
}
