import Router from '@koa/router';
import { resumeRequestSchema, webhookUrlsOf } from '../../domain/crews/crews.js';
import type { ResumeRef, ResumeStatus } from '../../domain/crews/workflow-contract.js';
import { ServiceError } from '../../domain/errors.js';
import { newFeedbackId } from '../../domain/ids.js';
import type { CrewFeedbackRecord } from '../../storage/crews/executions.js';
import type { RequestState } from '../request-context.js';
import { crewOperation } from './document.js';
import type { ExecutionDependencies } from './executions.js';
import { resumedSchema } from './responses.js';
import { notFound, rejectBlockedUrls } from './validation.js';

const MESSAGES: Record<ResumeStatus, string> = {
  resumed: 'The task is approved; the execution goes on.',
  retrying: 'The task is tried again with the feedback.',
  completed: 'The task is approved; it was the last one and the execution has completed.',
};

/** A person's answer to a task that waits (specification, "Part A: resume request"). */
export function resumeRoutes(deps: Omit<ExecutionDependencies, 'crews'>): Router<RequestState> {
  const { crewExecutions, starters } = deps;
  const router = new Router<RequestState>({ prefix: '/crews/:crew' });

  router.post(
    '/resume',
    crewOperation(
      {
        summary: 'Answer for a task that waits for a person',
        description: 'URLs are not carried over: each callback that is still wanted needs its URL again.',
        body: resumeRequestSchema,
        example: {
          execution_id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
          task_id: 'draft_reply',
          human_feedback: 'Say also how long a parcel takes.',
          is_approve: false,
          taskWebhookUrl: 'https://example.com/hooks/crews',
        },
        status: 200,
        response: resumedSchema,
        errors: ['NOT_FOUND'],
        idempotencyKeys: deps.idempotencyKeys,
      },
      async (ctx, { body, respond }) => {
        const { execution_id, task_id, is_approve } = body;
        const execution = await crewExecutions.findForOrg(ctx.state.principal.org, ctx.params.crew!, execution_id);
        if (!execution) throw notFound(`execution "${execution_id}"`);
        const task = execution.tasks.find((one) => one.task_id === task_id);
        if (!task) throw notFound(`task "${task_id}" in this execution`);
        if (task.status !== 'pending_human_input') {
          throw new ServiceError('INVALID_PARAMETERS', 'The execution is not waiting for human input on this task.');
        }
        const urls = webhookUrlsOf(body);
        await rejectBlockedUrls(deps.outbound, urls);
        const feedback: CrewFeedbackRecord = {
          _id: newFeedbackId(),
          execution: execution._id,
          task: task_id,
          attempt: task.attempts,
          text: body.human_feedback,
          is_approve,
          urls,
          created_at: new Date(),
          applied_at: null,
          output: null,
          expires_at: null,
        };
        await crewExecutions.addFeedback(feedback);
        const status = await take({
          execution: execution._id,
          task: task_id,
          // What this person has seen: an attempt made meanwhile is not answered for.
          attempt: task.attempts,
          feedback: feedback._id,
          is_approve,
        });
        respond({ status, message: MESSAGES[status] });
      },
    ),
  );

  return router;

  /** The text is stored before; when the answer is refused it goes again, when that is not known it stays. */
  async function take(ref: ResumeRef): Promise<ResumeStatus> {
    try {
      return await starters.resumeCrew(ref);
    } catch (error) {
      if (error instanceof ServiceError && error.status < 500) await crewExecutions.removeFeedback(ref.feedback);
      throw error;
    }
  }
}
