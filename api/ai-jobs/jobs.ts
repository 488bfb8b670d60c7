import Router from '@koa/router';
import type { Logger } from 'pino';
import { z } from 'zod';
import { AI_FEATURE_NAMES } from '../../domain/ai-jobs/features.js';
import { describePolledJob } from '../../domain/ai-jobs/job-payload.js';
import { JOB_STATUSES } from '../../domain/ai-jobs/states.js';
import { canonicalObject } from '../../domain/canonical-json.js';
import { ServiceError } from '../../domain/errors.js';
import { newJobGroupId } from '../../domain/ids.js';
import type { AiJobRecord } from '../../storage/ai-jobs/job-record.js';
import type { JobStarters } from '../../temporal/ai-jobs/starters.js';
import { workflowIds } from '../../temporal/workflow-ids.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import type { Dependencies } from '../dependencies.js';
import { byTime, pageQuery, readPage, timePosition } from '../pagination.js';
import { pickFields } from '../pick-fields.js';
import { type BatchedRequest, createRequestBatcher, type RequestBatcher } from '../request-batcher.js';
import type { RequestState } from '../request-context.js';
import { aiJobOperation } from './document.js';
import { describedJobRequest } from './request-schema.js';
import {
  cancellingSchema,
  describeInput,
  jobInputSchema,
  jobListSchema,
  polledJobSchema,
  submittedSchema,
  summariseJob,
} from './responses.js';
import { readSubmission } from './submission.js';

/** @returns a batcher of quick jobs */
export function createJobBatcher(
  starters: Pick<JobStarters, 'startJobs'>,
  log: Pick<Logger, 'warn'>,
): RequestBatcher<AiJobRecord> {
  return createRequestBatcher({
    newId: newJobGroupId,
    start: (group, jobs: AiJobRecord[]) => startOrDefer(log, 'jobs', { group }, () => starters.startJobs(jobs)),
  });
}

const NEWEST_FIRST = byTime<AiJobRecord>(({ created_at }) => created_at);

const listQuerySchema = pageQuery(NEWEST_FIRST).extend({
  status: z.enum(JOB_STATUSES).optional(),
  feature: z.enum(AI_FEATURE_NAMES).optional(),
});

/** Submitting, listing, polling and cancelling jobs. */
export function jobRoutes(deps: Dependencies): Router<RequestState> {
  const { aiJobs, starters } = deps;
  const router = new Router<RequestState>({ prefix: '/v3/ai/async' });

  router.post(
    '/',
    aiJobOperation(
      {
        summary: 'Submit a job',
        description:
          'The subfeature defines the fields of `input`. A callback to `webhook_receiver` reports the completion; without one, ' +
          'poll the job.',
        // Documents are also generated without the dependencies of the routes.
        body: describedJobRequest(deps.catalogue?.list() ?? []),
        example: {
          model: 'text/language_detection/eld',
          input: { text: 'Die Bibliothek öffnet um neun Uhr.' },
          webhook_receiver: 'https://example.com/hooks/jobs',
          user_webhook_parameters: { invoice: 4711 },
        },
        status: 202,
        response: submittedSchema,
        errors: ['FILE_NOT_FOUND'],
        idempotencyKeys: deps.idempotencyKeys,
      },
      async (ctx, { org, body, respondWith }) => {
        const job = await readSubmission(deps, org, body, ctx.request.text!);
        const { _id: job_id } = job;
        const batched = addToBatch(job);
        let stored: AiJobRecord | null = null;
        try {
          await respondWith(pickFields(submittedSchema, { ...job, job_id }), (tx) =>
            deps.quotas.admit(
              job.org,
              { queued_jobs: 1, stored_bytes: job.bytes },
              (session) => aiJobs.add(job, session),
              tx,
            ),
          );
          stored = job;
        } finally {
          batched.settle(stored);
        }
        if (batched.group === null) await startOrDefer(deps.log, 'job', { job_id }, () => starters.startJobs([job]));
      },
    ),
  );

  router.get(
    '/',
    aiJobOperation(
      { summary: 'List jobs', query: listQuerySchema, response: jobListSchema },
      async (_ctx, { org, query: { status, feature, ...page }, respond }) => {
        const { records, next_cursor } = await readPage(page, NEWEST_FIRST, ({ from, limit }) =>
          aiJobs.listForOrg(org, { status, feature, from: timePosition(from), limit }),
        );
        respond({ jobs: records.map(summariseJob), count: records.length, next_cursor });
      },
    ),
  );

  router.get(
    '/:job_id',
    aiJobOperation(
      { summary: 'Get a job and its result', response: polledJobSchema, errors: ['JOB_NOT_FOUND'] },
      async (ctx, { org }) => {
        const job = await requireJob(org, ctx.params.job_id!);
        ctx.type = 'application/json';
        // Canonical JSON, as in the callback: the numbers in the client's parameters keep their notation.
        ctx.body = canonicalObject(
          describePolledJob(job, workflowIds.job(job), await aiJobs.getResult(job.org, job._id)),
        );
      },
    ),
  );

  router.get(
    '/:job_id/input',
    aiJobOperation(
      {
        summary: 'Get the input of a job',
        description:
          'The `model` and the `input` as they were submitted, with the settings in the input itself. Left out are fields that are ' +
          'null, and the query of a URL, which may hold a password.',
        response: jobInputSchema,
        errors: ['JOB_NOT_FOUND'],
      },
      async (ctx, { org, respond }) => respond(describeInput(await requireJob(org, ctx.params.job_id!))),
    ),
  );

  router.delete(
    '/:job_id',
    aiJobOperation(
      {
        summary: 'Cancel a job',
        description: 'The job ends as `fail`, with the error code `cancelled`, and its callback is sent.',
        status: 202,
        response: cancellingSchema,
        errors: ['JOB_NOT_FOUND', 'JOB_FINISHED'],
      },
      async (ctx, { org, respond }) => {
        const job = await aiJobs.requestCancel(org, ctx.params.job_id!);
        if (!job) {
          const { status } = await requireJob(org, ctx.params.job_id!);
          throw new ServiceError('JOB_FINISHED', `The job has already finished with status ${status}.`);
        }
        // The record says that the job is cancelled, so the reconciler repeats a cancellation that has not reached Temporal.
        await startOrDefer(deps.log, 'cancellation', { job_id: job._id }, () => starters.cancelJob(job));
        respond({ job_id: job._id, status: 'cancelling' });
      },
    ),
  );

  return router;

  /** Puts a quick job into a group of several requests, when many such requests arrive. */
  function addToBatch(job: AiJobRecord): BatchedRequest<AiJobRecord> {
    const size = { id: job._id, bytes: Buffer.byteLength(job.input) };
    const batched = deps.jobBatcher.add(job.org, job.quick ? size : null);
    if (batched.group !== null) job.group = batched.group;
    return batched;
  }

  async function requireJob(org: string, id: string): Promise<AiJobRecord> {
    const job = await aiJobs.findForOrg(org, id);
    if (!job) throw new ServiceError('JOB_NOT_FOUND', `There is no job "${id}".`);
    return job;
  }
}
