import type { ClientSession, Collection } from 'mongodb';
import type { CrewDefinition, CrewTaskStatus, ExecutionStatus, WebhookUrls } from '../../domain/crews/crews.js';
import type { AttemptRef, CrewOutcome, ResumeRef } from '../../domain/crews/workflow-contract.js';
import { DAY_MS } from '../../domain/webhooks/delivery-policy.js';
import { staleRecords } from '../queries.js';
import type { CrewFeedbackRecord } from './feedback.js';
import type { CrewStepRecord } from './steps.js';

export interface CrewExecutionRecord {
  /** UUID. */
  _id: string;
  org: string;
  crew: string;
  /** The crew at the kickoff. Later changes to the crew's files do not affect the execution. */
  definition: CrewDefinition;
  /** JSON, because MongoDB does not store every field name. */
  inputs: string;
  /** JSON, as the client sent it. */
  meta: string | null;
  status: ExecutionStatus;
  /** URLs of the kickoff, then of the latest resume. */
  urls: WebhookUrls;
  tasks: CrewTaskRecord[];
  error_message: string | null;
  /** Number of the latest event; callbacks carry it. */
  sequence: number;
  /** Time after which the reconciler checks the execution's workflow. */
  check_at: Date;
  created_at: Date;
  finished_at: Date | null;
  /** When MongoDB removes the record; null while the execution is unfinished. */
  expires_at: Date | null;
}

/** A task within an execution. */
export interface CrewTaskRecord {
  task_id: string;
  agent: string;
  status: CrewTaskStatus;
  attempts: number;
  /** Output of the latest attempt that has one. */
  output: string | null;
  /** Label of the model that runs the task. */
  model: string | null;
}

export type CrewExecutions = ReturnType<typeof createCrewExecutions>;

const RUNNING_STATUSES: ExecutionStatus[] = ['running', 'retrying'];
const UNFINISHED_STATUSES: ExecutionStatus[] = [...RUNNING_STATUSES, 'pending_human_input'];

/**
 * Executions of crews. Every change of status is one conditional update, so that a repeated step changes nothing.
 * @param retentionMs how long a finished execution is kept
 */
export function createCrewExecutions(
  {
    crewExecutions,
    crewSteps,
    crewFeedback,
  }: {
    crewExecutions: Collection<CrewExecutionRecord>;
    crewSteps: Collection<CrewStepRecord>;
    crewFeedback: Collection<CrewFeedbackRecord>;
  },
  retentionMs: number,
) {
  return {
    async add(execution: CrewExecutionRecord, tx?: ClientSession): Promise<void> {
      await crewExecutions.insertOne(execution, { session: tx });
    },

    getById(id: string): Promise<CrewExecutionRecord | null> {
      return crewExecutions.findOne({ _id: id });
    },

    /**
     * @param id in upper or lower case (RFC 9562)
     * @returns null when the execution is unknown, of another crew, or another organisation's
     */
    findForOrg(org: string, crew: string, id: string): Promise<CrewExecutionRecord | null> {
      return crewExecutions.findOne({ _id: id.toLowerCase(), org, crew });
    },

    /** Task: pending | retrying -> running. @param model label of the model that runs the task */
    async startTask({ execution, task, attempt }: AttemptRef, model: string): Promise<void> {
      const notStarted = { $elemMatch: { task_id: task, attempts: attempt - 1 } };
      await crewExecutions.updateOne(
        { _id: execution, status: { $in: RUNNING_STATUSES }, tasks: notStarted },
        {
          $set: {
            status: attempt === 1 ? 'running' : 'retrying',
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
    countStep(id: string, tx: ClientSession): Promise<CrewExecutionRecord | null> {
      return crewExecutions.findOneAndUpdate(
        { _id: id },
        { $inc: { sequence: 1 } },
        { session: tx, returnDocument: 'after' },
      );
    },

    /**
     * Task: running -> completed, or pending_human_input when a person must approve the output. Belongs to the
     * transaction that stores the delivery.
     * @returns the changed execution, or null when this attempt had ended before
     */
    endTask(
      { execution, task, attempt }: AttemptRef,
      output: string,
      humanInput: boolean,
      tx: ClientSession,
    ): Promise<CrewExecutionRecord | null> {
      const running = { $elemMatch: { task_id: task, attempts: attempt, status: 'running' as const } };
      return crewExecutions.findOneAndUpdate(
        { _id: execution, status: { $in: RUNNING_STATUSES }, tasks: running },
        {
          $set: {
            'tasks.$.status': humanInput ? 'pending_human_input' : 'completed',
            'tasks.$.output': output,
            ...(humanInput ? { status: 'pending_human_input' } : {}),
          },
          $inc: { sequence: 1 },
        },
        { session: tx, returnDocument: 'after' },
      );
    },

    /**
     * pending_human_input -> running when the feedback approves, else retrying. The URLs of the feedback replace all
     * earlier URLs. Belongs to the transaction that stores the delivery.
     * @returns the changed execution, or null when it did not wait for feedback on this attempt
     */
    async resume(
      { execution, task, attempt, feedback: feedbackId, is_approve }: ResumeRef,
      now: Date,
      tx: ClientSession,
    ): Promise<CrewExecutionRecord | null> {
      const feedback = await crewFeedback.findOne({ _id: feedbackId, execution }, { session: tx });
      if (!feedback) return null;
      const waiting = { $elemMatch: { task_id: task, attempts: attempt, status: 'pending_human_input' as const } };
      const resumed = await crewExecutions.findOneAndUpdate(
        { _id: execution, status: 'pending_human_input', tasks: waiting },
        {
          $set: {
            status: is_approve ? 'running' : 'retrying',
            urls: feedback.urls,
            'tasks.$.status': is_approve ? 'completed' : 'retrying',
            check_at: now,
          },
          $inc: { sequence: is_approve ? 1 : 0 },
        },
        { session: tx, returnDocument: 'after' },
      );
      if (!resumed) return null;
      const { output } = resumed.tasks.find(({ task_id }) => task_id === task)!;
      await crewFeedback.updateOne({ _id: feedbackId }, { $set: { applied_at: now, output } }, { session: tx });
      return resumed;
    },

    /**
     * Sets the final status, in the transaction that stores the delivery. An error also ends the current task.
     * @returns the finished execution, or null when it had finished before
     */
    async finish(
      id: string,
      { status, error_message }: CrewOutcome,
      now: Date,
      tx: ClientSession,
    ): Promise<CrewExecutionRecord | null> {
      const failed = status === 'error';
      return crewExecutions.findOneAndUpdate(
        { _id: id, status: { $in: UNFINISHED_STATUSES } },
        {
          $set: {
            status,
            error_message: error_message ?? null,
            finished_at: now,
            expires_at: new Date(now.getTime() + retentionMs),
            ...(failed ? { 'tasks.$[current].status': 'error' as const } : {}),
          },
          $inc: { sequence: 1 },
        },
        {
          session: tx,
          returnDocument: 'after',
          ...(failed ? { arrayFilters: [{ 'current.status': { $in: UNFINISHED_STATUSES } }] } : {}),
        },
      );
    },

    /** Removes steps and unapplied feedback of a finished execution. Applied feedback expires with the execution. */
    async removeLeftovers(id: string, now: Date): Promise<void> {
      await crewSteps.deleteMany({ execution: id });
      await crewFeedback.deleteMany({ execution: id, applied_at: null });
      const expires_at = new Date(now.getTime() + retentionMs);
      await crewFeedback.updateMany({ execution: id, expires_at: null }, { $set: { expires_at } });
    },

    /** Unfinished executions, without inputs and outputs. Those that wait for a person are checked once a day. */
    stale: staleRecords(crewExecutions, () => ({ status: { $in: UNFINISHED_STATUSES } }), {
      projection: { inputs: 0, meta: 0, urls: 0, 'tasks.output': 0 },
      checkAt: (next) => ({
        $cond: [{ $eq: ['$status', 'pending_human_input'] }, new Date(next.getTime() + DAY_MS), next],
      }),
    }),
  };
}
