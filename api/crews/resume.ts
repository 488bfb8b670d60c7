import Router from '@koa/router';
import type { z } from 'zod';
import { resumeRequestSchema, type WebhookUrls, webhookFieldsOf, webhookUrlsOf } from '../../domain/crews/crews.js';
import { deciderInWords } from '../../domain/crews/decisions.js';
import type { ResumeStatus } from '../../domain/crews/workflow-contract.js';
import { ServiceError } from '../../domain/errors.js';
import { textBytes } from '../../domain/text-bytes.js';
import { areSameOrigins } from '../../domain/webhooks/static-headers.js';
import type { CrewExecutionRecord, CrewTaskRecord } from '../../storage/crews/execution-record.js';
import { type CrewFeedbackRecord, newFeedback } from '../../storage/crews/feedback.js';
import type { AuditDeclaration } from '../audited.js';
import type { Dependencies } from '../dependencies.js';
import type { RequestState } from '../request-context.js';
import { ownCrewOnly } from './deployed-crews.js';
import { crewOperation } from './document.js';
import { rejectBlockedUrls, requireExecution } from './executions.js';
import { resumedSchema } from './responses.js';

export const DECISION_MESSAGES: Record<ResumeStatus, string> = {
  resumed: 'The task is approved; the execution continues.',
  retrying: 'The task is retried with the feedback.',
  completed: 'The last task is approved; the execution has completed.',
};

/** A decision in the audit log. */
export const DECISIONS = {
  actions: ['output.approved', 'output.rejected'] as const,
  choose: ({ is_approve }: { is_approve: boolean }) => (is_approve ? 'output.approved' : 'output.rejected'),
} satisfies Pick<AuditDeclaration<{ is_approve: boolean }, unknown>, 'actions' | 'choose'>;

/** A person's feedback on a task that waits for it (specification, "Part A: resume request"). */
export function resumeRoutes(deps: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/crews/:crew' });

  router.post(
    '/resume',
    ownCrewOnly,
    crewOperation(
      {
        summary: 'Resume an execution',
        description:
          'Approves or rejects the output of a task that waits for human input. Webhook URLs of the kickoff are not ' +
          'reused: send every URL that should still receive callbacks. Without any, a `warning` names those that get no more.',
        body: resumeRequestSchema,
        example: {
          execution_id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
          task_id: 'draft_reply',
          human_feedback: 'Also mention how long a parcel takes.',
          is_approve: false,
          taskWebhookUrl: 'https://example.com/hooks/crews',
        },
        response: resumedSchema,
        errors: ['NOT_FOUND'],
        idempotencyKeys: deps.idempotencyKeys,
        audit: {
          ...DECISIONS,
          about: ({ params }, { execution_id, task_id }) => ({
            subject: { id: execution_id, name: `${task_id} by ${params.crew}` },
          }),
        },
      },
      async (ctx, { body, respond }) => {
        const { key_id, label } = ctx.state.principal;
        const read = () => requireExecution(deps, ctx, body.execution_id);
        const execution = await read();
        const task = requireWaitingTask(execution, body);
        const urls = webhookUrlsOf(body);
        await rejectBlockedUrls(deps.outbound, urls);
        const decided_by = { kind: 'key', key_id, label } as const;
        const { _id, org } = execution;
        const ref = { execution: _id, org, task: task.task_id, attempt: task.attempts };
        const feedback = newFeedback(ref, {
          text: body.human_feedback,
          is_approve: body.is_approve,
          urls,
          headers: headersAfter(execution, body, urls),
          decided_by,
          created_at: deps.now(),
        });
        const status = await applyFeedback(deps, feedback).catch(async (error) => {
          // Another decision was first: say whose, as far as it is stored already.
          if (error instanceof ServiceError && error.status === 400) requireWaitingTask(await read(), body);
          throw error;
        });
        const warning = endedCallbacks(execution.urls, urls);
        respond({ status, message: DECISION_MESSAGES[status], ...(warning && { warning }) });
      },
    ),
  );

  return router;

  /** The static headers of the receivers from now on. Those so far are credentials: other origins do not get them. */
  function headersAfter(
    { _id, urls: before, headers = null }: CrewExecutionRecord,
    { webhookHeaders }: z.output<typeof resumeRequestSchema>,
    now: WebhookUrls,
  ) {
    if (webhookHeaders) return deps.crewHeaders.seal(_id, webhookHeaders);
    return areSameOrigins(Object.values(webhookFieldsOf(before)), Object.values(webhookFieldsOf(now))) ? headers : null;
  }
}

/** @throws ServiceError NOT_FOUND, INVALID_PARAMETERS when the task does not wait for human input */
function requireWaitingTask(
  execution: CrewExecutionRecord,
  { task_id: id, attempt }: Pick<z.output<typeof resumeRequestSchema>, 'task_id' | 'attempt'>,
): CrewTaskRecord {
  const task = execution.tasks.find(({ task_id }) => task_id === id);
  if (!task) throw new ServiceError('NOT_FOUND', `There is no task "${id}" in this execution.`);
  const isRead = attempt === undefined || attempt === task.attempts;
  if (task.status === 'pending_human_input' && isRead) return task;
  const of = isRead ? 'this task' : `attempt ${attempt} of this task`;
  throw new ServiceError(
    'INVALID_PARAMETERS',
    `The execution is not waiting for human input on ${of}.${decidedOn(task, attempt)}`,
  );
}

/** A sentence about the decision on an attempt, as far as it is known. */
function decidedOn({ decision }: CrewTaskRecord, attempt = decision?.attempt): string {
  if (!decision || decision.attempt !== attempt) return '';
  return ` Its output was ${decision.is_approve ? 'approved' : 'rejected'} ${deciderInWords(decision.decided_by)}.`;
}

/** @returns a warning when the decision names no URLs, and so ends all callbacks of the execution */
function endedCallbacks(before: WebhookUrls, now: WebhookUrls): string | undefined {
  const ended = Object.keys(webhookFieldsOf(before));
  if (ended.length === 0 || Object.keys(webhookFieldsOf(now)).length > 0) return undefined;
  return `No URL was sent, so there are no more callbacks to ${ended.join(', ')} of this execution.`;
}

/**
 * Stores the feedback, for the workflow to read, and waits until the workflow has applied it. The record is removed when
 * the workflow rejects the feedback, and kept when the outcome is unknown.
 */
export async function applyFeedback(
  { crewFeedback, crewExecutions, quotas, starters }: Dependencies,
  record: CrewFeedbackRecord,
): Promise<ResumeStatus> {
  const added = { stored_bytes: textBytes(record.text) };
  await quotas.admit(record.org, added, (tx) => crewFeedback.add(record, tx));
  const { _id: feedback, org, execution, task, attempt, is_approve } = record;
  try {
    return await starters.resumeCrew({ execution, org, task, attempt, feedback, is_approve }, () =>
      crewExecutions.getWaiting({ execution, org, task, attempt }),
    );
  } catch (error) {
    if (error instanceof ServiceError && error.status < 500) await crewFeedback.remove(org, feedback);
    throw error;
  }
}
