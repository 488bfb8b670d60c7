import Router from '@koa/router';
import type { Middleware } from 'koa';
import { reviewDecisionSchema } from '../../domain/crews/crews.js';
import { deciderInWords } from '../../domain/crews/decisions.js';
import { readReviewToken, reviewUrl } from '../../domain/crews/review-links.js';
import type { AttemptRef } from '../../domain/crews/workflow-contract.js';
import { ServiceError } from '../../domain/errors.js';
import { type CrewExecutionRecord, type CrewTaskRecord, deadlineOf } from '../../storage/crews/execution-record.js';
import { newFeedback } from '../../storage/crews/feedback.js';
import type { Dependencies } from '../dependencies.js';
import { crewErrors, plainEnvelope } from '../envelope.js';
import { jsonBody } from '../json-body.js';
import { operations } from '../operation.js';
import { type RateLimits, takeOrReject } from '../rate-limit.js';
import type { RequestContext, RequestState } from '../request-context.js';
import { routesOf, type Service, TOKEN_ERRORS } from '../service.js';
import { organisationOnly } from './deployed-crews.js';
import { crewOperation } from './document.js';
import { requireExecution } from './executions.js';
import { resumedSchema, reviewSchema, revokedSchema } from './responses.js';
import { applyFeedback, DECISION_MESSAGES, DECISIONS } from './resume.js';
import { reviewPageRoutes } from './review-page.js';

const TAG = 'Reviews';
const operation = operations(TAG, plainEnvelope);

/** The feedback of an approval without words. */
const APPROVED = 'Approved.';

/** `/review`: the page of a review link, and what it calls. The token of the link takes the place of a key. */
export function reviewService(deps: Dependencies): Service {
  return {
    paths: ['/review'],
    errors: crewErrors,
    middleware: [
      routesOf(reviewPageRoutes()),
      limitReviews(deps.rateLimits.reviews),
      // Before the body, whose memory nobody without a link may have: a few addresses would hold all of it.
      async (ctx, next) => {
        await requireLink(deps, ctx);
        await next();
      },
      jsonBody(),
      routesOf(reviewRoutes(deps)),
    ],
    document: {
      tags: [{ name: TAG, description: 'What the page of a review link calls, with the token of the link.' }],
      security: {
        name: 'review_token',
        scheme: { type: 'http', scheme: 'bearer', description: 'The part of a `review_url` after `#`.' },
        unscoped: true,
      },
      errors: TOKEN_ERRORS,
    },
  };
}

function limitReviews(limit: RateLimits['reviews']): Middleware<RequestState> {
  return async (ctx, next) => {
    await takeOrReject(
      limit,
      ctx.state.address,
      'Too many requests have come from this address; try again in a minute.',
    );
    await next();
  };
}

function reviewRoutes(deps: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/review' });

  router.get(
    '/output',
    operation({ summary: 'Get the output of a review link', response: reviewSchema }, async (ctx, { respond }) => {
      const { execution, task, ref } = await requireLink(deps, ctx);
      const shown = { crew: execution.crew, task_id: task.task_id };
      ctx.set('Cache-Control', 'no-store');
      if (isOpen(execution, task, ref, deps.now())) {
        const deadline = deadlineOf(execution)?.toISOString();
        respond({ ...shown, state: 'waiting', output: task.output ?? '', ...(deadline && { deadline }) });
        return;
      }
      const decision = await deps.crewFeedback.findApplied(ref);
      if (!decision) return respond({ ...shown, state: 'over' });
      const state = decision.is_approve ? 'approved' : 'rejected';
      const decided_by = deciderInWords(decision.decided_by);
      respond({ ...shown, state, decided_at: decision.applied_at!.toISOString(), decided_by });
    }),
  );

  router.post(
    '/decision',
    operation(
      {
        summary: 'Decide on the output of a review link',
        description:
          'The first decision counts, by whichever way it comes. Receivers of callbacks stay as they are. `human_feedback` is ' +
          'required to reject.',
        body: reviewDecisionSchema,
        example: { is_approve: true, human_feedback: 'Good. Name the day in the next letter, too.' },
        response: resumedSchema,
        audit: {
          ...DECISIONS,
          async about(ctx) {
            const { execution, task } = await requireLink(deps, ctx);
            return {
              subject: { id: execution._id, name: `${task.task_id} by ${execution.crew}` },
              by: { org: execution.org, actor: { type: 'review_link' } },
            };
          },
        },
      },
      async (ctx, { body: { is_approve, human_feedback: text = APPROVED }, respond }) => {
        const { execution, task, ref } = await requireLink(deps, ctx);
        if (!isOpen(execution, task, ref, deps.now())) throw alreadyDecided();
        const { urls, headers } = execution;
        const decided_by = { kind: 'review_link' } as const;
        const feedback = newFeedback(ref, { text, is_approve, urls, headers, decided_by, created_at: deps.now() });
        const status = await applyFeedback(deps, feedback).catch((error) => {
          throw error instanceof ServiceError && error.status === 400 ? alreadyDecided() : error;
        });
        respond({ status, message: DECISION_MESSAGES[status] });
      },
    ),
  );

  return router;
}

/**
 * @throws ServiceError UNAUTHORIZED without a token; NOT_FOUND, the same for a link that is wrong, was revoked, or whose
 * execution is not stored any more
 */
async function requireLink(
  deps: Pick<Dependencies, 'crewExecutions'>,
  ctx: RequestContext,
): Promise<{ execution: CrewExecutionRecord; task: CrewTaskRecord; ref: AttemptRef }> {
  const token = /^Bearer ([\w.-]{1,1024})$/i.exec(ctx.get('Authorization'))?.[1];
  if (token === undefined)
    throw new ServiceError('UNAUTHORIZED', 'The header Authorization must have the token of a link.');
  const read = readReviewToken(token);
  const execution = read && (await deps.crewExecutions.getById(read.ref.org, read.ref.execution));
  const task = read && execution?.tasks[read.ref.task];
  if (!task || !read.isGenuine(execution!)) {
    throw new ServiceError('NOT_FOUND', 'This link is not valid, or it was revoked.');
  }
  return { execution: execution!, task, ref: { ...read.ref, task: task.task_id } };
}

/** Whether a decision on this attempt can still be made. */
function isOpen(execution: CrewExecutionRecord, task: CrewTaskRecord, { attempt }: AttemptRef, now: Date): boolean {
  const deadline = deadlineOf(execution);
  const waits = task.status === 'pending_human_input' && task.attempts === attempt;
  return waits && execution.status === 'pending_human_input' && (deadline === null || deadline > now);
}

function alreadyDecided(): ServiceError {
  return new ServiceError('INVALID_PARAMETERS', 'This output does not wait for a decision any more.');
}

/** Revoking the links of an execution. */
export function reviewLinkRoutes(deps: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/crews/:crew' });
  router.delete(
    '/:kickoff_id/review-links',
    organisationOnly,
    crewOperation(
      {
        summary: 'Revoke the review links of an execution',
        description: 'Links that were given out end. The output that waits gets a new one, which the status shows.',
        response: revokedSchema,
        errors: ['NOT_FOUND'],
        audit: {
          actions: ['review_links.revoked'],
          about: ({ params }) => ({ subject: { id: params.kickoff_id, name: `an execution of ${params.crew}` } }),
        },
      },
      async (ctx, { org, respond }) => {
        const { crew, kickoff_id } = ctx.params;
        const execution = await deps.crewExecutions.replaceReviewKey(org, crew!, kickoff_id!);
        if (!execution) {
          const { status } = await requireExecution(deps, ctx);
          throw new ServiceError('INVALID_PARAMETERS', `The execution has already ended with status ${status}.`);
        }
        const waiting = execution.tasks.find(({ status }) => status === 'pending_human_input');
        const review_url = waiting && reviewUrl(deps.publicUrl, execution, waiting.task_id);
        const message = 'The review links so far are not valid any more.';
        respond({ execution_id: execution._id, ...(review_url && { review_url }), message });
      },
    ),
  );
  return router;
}
