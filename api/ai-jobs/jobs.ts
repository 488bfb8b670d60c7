import Router from '@koa/router';
import type { Logger } from 'pino';
import { jobRequestSchema } from '../../domain/ai-jobs.js';
import { canonicalObject } from '../../domain/canonical-json.js';
import { ServiceError } from '../../domain/errors.js';
import { describeJob } from '../../storage/ai-job-payload.js';
import type { AiJobs } from '../../storage/ai-jobs.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import type { AiJobRecord } from '../../storage/records/ai-jobs.js';
import type { Launcher } from '../../temporal/launcher.js';
import type { RequestState } from '../context.js';
import { cancelledSchema, jobSchema, submittedSchema } from './answers.js';
import { aiJobOperation } from './document.js';
import { readSubmission, type SubmissionDependencies } from './submission.js';

export interface JobDependencies extends SubmissionDependencies {
  aiJobs: AiJobs;
  idempotencyKeys: IdempotencyKeys;
  launcher: Launcher;
  log: Logger;
}

/** Jobs: submitted, polled, cancelled. */
export function jobRoutes(deps: JobDependencies): Router<RequestState> {
  const { aiJobs, launcher } = deps;
  const router = new Router<RequestState>({ prefix: '/v3/ai/async' });

  router.post(
    '/',
    aiJobOperation(
      {
        summary: 'Submit a job',
        description: '`input` is that of the subfeature. The end is told by `webhook_receiver`, or by polling.',
        body: jobRequestSchema,
        example: {
          model: 'text/language_detection/eld',
          input: { text: 'Die Bibliothek öffnet um neun Uhr.' },
          webhook_receiver: 'https://example.com/hooks/jobs',
          user_webhook_parameters: { invoice: 4711 },
        },
        status: 202,
        answers: submittedSchema,
        errors: ['FILE_NOT_FOUND'],
        idempotencyKeys: deps.idempotencyKeys,
      },
      async (ctx, { body, answer }) => {
        const job = await readSubmission(deps, ctx.state.principal.org, body, ctx.request.text!);
        const { _id: job_id, status, feature, subfeature, provider, model } = job;
        answer({ job_id, status, created_at: job.created_at.toISOString(), feature, subfeature, provider, model });
        await aiJobs.add(job, ctx.state.keepAnswer);
        // The job is safe already: when Temporal is away the sweep starts it as soon as it is back.
        await launcher.startJob(job).catch((error) => {
          deps.log.warn({ err: error, job: job._id }, 'job workflow not started; the sweep will start it');
        });
      },
    ),
  );

  router.get(
    '/:job_id',
    aiJobOperation(
      { summary: 'A job, and its result', status: 200, answers: jobSchema, errors: ['JOB_NOT_FOUND'] },
      async (ctx) => {
        const job = await find(ctx.state.principal.org, ctx.params.job_id!);
        ctx.type = 'application/json';
        // As in the callback: the numbers of the client's parameters keep their notation.
        ctx.body = canonicalObject(describeJob(job, await aiJobs.result(job._id)));
      },
    ),
  );

  router.delete(
    '/:job_id',
    aiJobOperation(
      {
        summary: 'Cancel a job',
        status: 202,
        answers: cancelledSchema,
        errors: ['JOB_NOT_FOUND', 'JOB_FINISHED'],
      },
      async (ctx, { answer }) => {
        const { org } = ctx.state.principal;
        const job = await aiJobs.requestCancel(org, ctx.params.job_id!);
        if (!job) {
          const { status } = await find(org, ctx.params.job_id!);
          throw new ServiceError('JOB_FINISHED', `The job has finished already, with status ${status}.`);
        }
        await launcher.cancelJob(job._id);
        const message = 'The job is being cancelled: it ends as fail, unless it succeeds first.';
        answer({ job_id: job._id, status: job.status, message });
      },
    ),
  );

  return router;

  async function find(org: string, id: string): Promise<AiJobRecord> {
    const job = await aiJobs.find(org, id);
    if (!job) throw new ServiceError('JOB_NOT_FOUND', `There is no job "${id}".`);
    return job;
  }
}
