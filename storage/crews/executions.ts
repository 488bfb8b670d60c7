import type { ClientSession } from 'mongodb';
import { newReviewKey } from '../../domain/crews/review-links.js';
import {
  type ExecutionStatus,
  UNFINISHED_EXECUTION_STATUSES,
  WORKING_EXECUTION_STATUSES,
} from '../../domain/crews/states.js';
import type { AttemptRef, CrewOutcome, ResumeRef } from '../../domain/crews/workflow-contract.js';
import { textBytes } from '../../domain/text-bytes.js';
import { DAY_MS } from '../../domain/webhooks/delivery-policy.js';
import type { Access } from '../collections.js';
import type { OwnFilter } from '../organisation-records.js';
import { BY_ID, type PageQuery, pageByTime, type TimePosition } from '../queries.js';
import type { CrewExecutionRecord } from './execution-record.js';
import { type CrewFeedbackRecord, newFeedback } from './feedback.js';

export type CrewExecutions = ReturnType<typeof createCrewExecutions>;

/** Projection: what a list shows of an execution. */
const LISTED = { inputs: 0, meta: 0, urls: 0, headers: 0, review_key: 0, 'tasks.output': 0 } as const;

/** The feedback of a deadline that rejects. */
const NOT_APPROVED = 'Nobody approved the output in time.';

/**
 * Executions of crews. Every change of status is one conditional update, so that a repeated step changes nothing.
 * @param retentionMs how long a finished execution is kept
 */
export function createCrewExecutions(
  {
    crewExecutions,
    crewSteps,
    crewFeedback,
    now: clock,
  }: Access<'crewExecutions' | 'crewSteps' | 'crewFeedback' | 'now'>,
  retentionMs: number,
) {
  /** @returns null when the execution does not wait for feedback on this attempt */
  const getWaiting = (ref: AttemptRef, tx?: ClientSession): Promise<CrewExecutionRecord | null> =>
    crewExecutions.forOrg(ref.org).findOne(waitingFor(ref), { session: tx, ...BY_ID });

  /** Ends the wait for feedback. @returns null when the execution did not wait for feedback on this attempt */
  async function decide(
    feedback: CrewFeedbackRecord,
    now: Date,
    tx: ClientSession,
  ): Promise<CrewExecutionRecord | null> {
    const { _id, org, task, attempt, is_approve, text, urls, headers = null, decided_by } = feedback;
    const decided = await crewExecutions.forOrg(org).findOneAndUpdate(
      waitingFor(feedback),
      {
        $set: {
          urls,
          headers,
          status: is_approve ? 'running' : 'retrying',
          'tasks.$.status': is_approve ? 'completed' : 'retrying',
          'tasks.$.decision': { attempt, is_approve, decided_at: now, decided_by },
          waiting_since: null,
          check_at: now,
        },
        $inc: { sequence: is_approve ? 1 : 0, bytes: textBytes(text) },
      },
      { session: tx },
    );
    const output = decided?.tasks.find(({ task_id }) => task_id === task)?.output;
    if (decided)
      await crewFeedback.forOrg(org).updateOne({ _id }, { $set: { applied_at: now, output } }, { session: tx });
    return decided;
  }

  const changeUnfinished = (org: string, crew: string, id: string, change: Partial<CrewExecutionRecord>) => {
    const unfinished = { _id: id.toLowerCase(), crew, status: { $in: UNFINISHED_EXECUTION_STATUSES } };
    return crewExecutions.forOrg(org).findOneAndUpdate(unfinished, { $set: change });
  };

  return {
    /** One page of the executions of a crew, newest first, without inputs and outputs. */
    listForOrg(
      org: string,
      crew: string,
      { status, ...page }: PageQuery<TimePosition> & { status?: ExecutionStatus | undefined },
    ): Promise<CrewExecutionRecord[]> {
      return pageByTime(crewExecutions.forOrg(org), { crew, ...(status && { status }) }, page, 'created_at', -1)
        .project<CrewExecutionRecord>(LISTED)
        .toArray();
    },

    /** One page of an organisation's executions that wait for a person, longest wait first. */
    listWaiting(
      org: string,
      { crews, ...page }: PageQuery<TimePosition> & { crews?: readonly string[] | undefined },
    ): Promise<CrewExecutionRecord[]> {
      const filter = { status: 'pending_human_input' as const, ...(crews && { crew: { $in: [...crews] } }) };
      return pageByTime(crewExecutions.forOrg(org), filter, page, 'waiting_since', 1)
        .project<CrewExecutionRecord>({ inputs: 0, meta: 0 })
        .toArray();
    },

    async add(execution: CrewExecutionRecord, tx?: ClientSession): Promise<void> {
      await crewExecutions.forOrg(execution.org).insertOne(execution, { session: tx });
    },

    getById(org: string, id: string): Promise<CrewExecutionRecord | null> {
      return crewExecutions.forOrg(org).findOne({ _id: id }, BY_ID);
    },

    getWaiting,

    /**
     * @param id in upper or lower case (RFC 9562)
     * @returns null when the execution is unknown, of another crew, or another organisation's
     */
    findForOrg(org: string, crew: string, id: string): Promise<CrewExecutionRecord | null> {
      return crewExecutions.forOrg(org).findOne({ _id: id.toLowerCase(), crew });
    },

    /**
     * Task: pending | retrying -> running.
     * @param model label of the model that runs the task
     * @param aside whether the task runs beside others, which may wait for a person: the execution keeps its status
     */
    async startTask({ execution, org, task, attempt }: AttemptRef, model: string, aside: boolean): Promise<void> {
      const notStarted = { $elemMatch: { task_id: task, attempts: attempt - 1 } };
      await crewExecutions.forOrg(org).updateOne(
        {
          _id: execution,
          status: { $in: aside ? UNFINISHED_EXECUTION_STATUSES : WORKING_EXECUTION_STATUSES },
          tasks: notStarted,
        },
        {
          $set: {
            ...(aside ? {} : { status: attempt === 1 ? ('running' as const) : ('retrying' as const) }),
            'tasks.$.status': 'running',
            'tasks.$.attempts': attempt,
            'tasks.$.model': model,
          },
        },
      );
    },

    /**
     * Counts a step, in the transaction that stores it.
     * @returns the execution with the step's sequence and the present receivers; null when it is no longer stored
     */
    countStep(org: string, id: string, tx: ClientSession): Promise<CrewExecutionRecord | null> {
      return crewExecutions
        .forOrg(org)
        .findOneAndUpdate({ _id: id }, { $inc: { sequence: 1 } }, { session: tx, ...BY_ID });
    },

    /**
     * Task: running -> completed, or pending_human_input when a person must approve the output. Belongs to the
     * transaction that stores the delivery.
     * @returns the changed execution, or null when this attempt had ended before
     */
    endTask(
      { execution, org, task, attempt }: AttemptRef,
      output: string,
      humanInput: boolean,
      now: Date,
      tx: ClientSession,
    ): Promise<CrewExecutionRecord | null> {
      const running = { $elemMatch: { task_id: task, attempts: attempt, status: 'running' as const } };
      return crewExecutions.forOrg(org).findOneAndUpdate(
        { _id: execution, status: { $in: UNFINISHED_EXECUTION_STATUSES }, tasks: running },
        {
          $set: {
            'tasks.$.status': humanInput ? 'pending_human_input' : 'completed',
            'tasks.$.output': output,
            ...(humanInput ? { status: 'pending_human_input', waiting_since: now } : {}),
          },
          // The output of an earlier attempt is kept with its feedback.
          $inc: { sequence: 1, bytes: textBytes(output) },
        },
        { session: tx },
      );
    },

    /**
     * pending_human_input -> running when the feedback approves, else retrying. The URLs of the feedback replace all
     * earlier URLs. Belongs to the transaction that stores the delivery.
     * @returns the changed execution, or null when it did not wait for feedback on this attempt
     */
    async resume({ execution, org, feedback: _id }: ResumeRef, now: Date, tx: ClientSession) {
      const feedback = await crewFeedback.forOrg(org).findOne({ _id, execution }, { session: tx });
      return feedback && decide(feedback, now, tx);
    },

    /**
     * Decides on a task at its deadline, as `resume` does, with the URLs that the execution has. A rejection stores the
     * feedback that the next attempt gets. Belongs to the transaction that stores the delivery.
     * @returns the changed execution, or null when it did not wait for feedback on this attempt
     */
    async decideAtDeadline(ref: AttemptRef, is_approve: boolean, now: Date, tx: ClientSession) {
      const waiting = await getWaiting(ref, tx);
      if (!waiting) return null;
      const { urls, headers } = waiting;
      const decided_by = { kind: 'deadline' } as const;
      const text = is_approve ? '' : NOT_APPROVED;
      const feedback = newFeedback(ref, { text, is_approve, urls, headers, decided_by, created_at: now });
      if (!is_approve) await crewFeedback.forOrg(ref.org).insertOne(feedback, { session: tx });
      return decide(feedback, now, tx);
    },

    /** Counts a reminder. @returns the execution, or null when it does not wait for feedback on this attempt any more */
    remind(ref: AttemptRef, tx: ClientSession): Promise<CrewExecutionRecord | null> {
      const update = { $inc: { sequence: 1 } };
      const options = { session: tx } as const;
      return crewExecutions.forOrg(ref.org).findOneAndUpdate(waitingFor(ref), update, options);
    },

    /**
     * Ends all review links so far.
     * @returns null when the execution has ended, is unknown, of another crew, or another organisation's
     */
    replaceReviewKey(org: string, crew: string, id: string): Promise<CrewExecutionRecord | null> {
      return changeUnfinished(org, crew, id, { review_key: newReviewKey() });
    },

    /**
     * Marks an execution for cancellation. The reconciler cancels its workflow if the request could not.
     * @returns null when it has ended, is unknown, of another crew, or another organisation's
     */
    requestCancel(org: string, crew: string, id: string): Promise<CrewExecutionRecord | null> {
      return changeUnfinished(org, crew, id, { cancel_requested: true, check_at: clock() });
    },

    /**
     * Sets the final status, in the transaction that stores the delivery. An error also ends the current task.
     * @returns the finished execution, or null when it had finished before
     */
    async finish(
      org: string,
      id: string,
      { status, error_message, error_code }: CrewOutcome,
      now: Date,
      tx: ClientSession,
    ): Promise<CrewExecutionRecord | null> {
      const failed = status === 'error';
      return crewExecutions.forOrg(org).findOneAndUpdate(
        { _id: id, status: { $in: UNFINISHED_EXECUTION_STATUSES } },
        {
          $set: {
            status,
            error_message: error_message ?? null,
            error_code: error_code ?? null,
            waiting_since: null,
            finished_at: now,
            expires_at: new Date(now.getTime() + retentionMs),
            ...(failed ? { 'tasks.$[current].status': 'error' as const } : {}),
          },
          $inc: { sequence: 1 },
        },
        {
          session: tx,
          ...(failed ? { arrayFilters: [{ 'current.status': { $in: UNFINISHED_EXECUTION_STATUSES } }] } : {}),
        },
      );
    },

    /** Removes steps and unapplied feedback of a finished execution. Applied feedback expires with the execution. */
    async removeLeftovers(org: string, id: string, now: Date): Promise<void> {
      const own = crewFeedback.forOrg(org);
      await crewSteps.forOrg(org).deleteMany({ execution: id });
      await own.deleteMany({ execution: id, applied_at: null });
      const expires_at = new Date(now.getTime() + retentionMs);
      await own.updateMany({ execution: id, expires_at: null }, { $set: { expires_at } });
    },

    /** Unfinished executions, without inputs and outputs. Those that wait for a person are checked once a day. */
    stale: crewExecutions.stale(() => ({ status: { $in: UNFINISHED_EXECUTION_STATUSES } }), {
      projection: LISTED,
      checkAt: (next) => ({
        $cond: [
          { $and: [{ $eq: ['$status', 'pending_human_input'] }, { $ne: ['$cancel_requested', true] }] },
          new Date(next.getTime() + DAY_MS),
          next,
        ],
      }),
    }),
  };
}

/** The filter for an execution that waits for feedback on this attempt. */
function waitingFor({ execution, task, attempt }: AttemptRef): OwnFilter<CrewExecutionRecord> {
  return {
    _id: execution,
    status: 'pending_human_input',
    tasks: { $elemMatch: { task_id: task, attempts: attempt, status: 'pending_human_input' } },
  };
}
