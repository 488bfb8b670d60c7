import type { ClientSession, Collection } from 'mongodb';
import type { CrewDefinition, CrewTaskStatus, ExecutionStatus, WebhookUrls } from '../../domain/crews/crews.js';
import type { AttemptRef, CrewOutcome, ResumeRef } from '../../domain/crews/workflow-contract.js';
import { DAY_MS } from '../../domain/webhooks/delivery-policy.js';
import { takeStale } from '../queries.js';
import type { CrewStepRecord } from './steps.js';

export interface CrewExecutionRecord {
  /** UUID. */
  _id: string;
  org: string;
  crew: string;
  /** As the crew was when it was kicked off: an execution goes on with it, whatever happens to the files. */
  definition: CrewDefinition;
  /** As JSON, because their names may be any; so is `meta`. */
  inputs: string;
  meta: string | null;
  status: ExecutionStatus;
  /** Of the kickoff, then of the latest resume. */
  urls: WebhookUrls;
  tasks: CrewTaskRecord[];
  error_message: string | null;
  /** From when on the sweep may wonder whether its workflow exists. */
  check_at: Date;
  created_at: Date;
  finished_at: Date | null;
  /** When MongoDB removes the record; null as long as it is under way. */
  expires_at: Date | null;
}

/** A task within an execution. */
export interface CrewTaskRecord {
  task_id: string;
  agent: string;
  status: CrewTaskStatus;
  attempts: number;
  /** Of the latest attempt that gave one. */
  output: string | null;
  /** The label of the model that works on it. */
  model: string | null;
}

/** What a person answered. */
export interface CrewFeedbackRecord {
  /** `fbk_…` */
  _id: string;
  execution: string;
  task: string;
  attempt: number;
  text: string;
  is_approve: boolean;
  urls: WebhookUrls;
  created_at: Date;
  /** Null until it took effect; one that never did counts for nothing. */
  applied_at: Date | null;
  /** What the attempt that it is about gave. */
  output: string | null;
  expires_at: Date | null;
}

export type CrewExecutions = ReturnType<typeof createCrewExecutions>;

const AT_WORK: ExecutionStatus[] = ['running', 'retrying'];
const UNFINISHED: ExecutionStatus[] = [...AT_WORK, 'pending_human_input'];

/**
 * Executions of crews and what people answered to them. Every move is one conditional update, so that a step that is
 * repeated changes nothing.
 * @param retentionMs how long an execution outlives its end
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

    /** @param id as its client wrote it: a UUID is the same in capitals (RFC 9562) */
    findForOrg(org: string, crew: string, id: string): Promise<CrewExecutionRecord | null> {
      return crewExecutions.findOne({ _id: id.toLowerCase(), org, crew });
    },

    /** pending | retrying -> running: an attempt at a task begins. @param model its label */
    async startTask({ execution, task, attempt }: AttemptRef, model: string): Promise<void> {
      await crewExecutions.updateOne(
        { _id: execution, status: { $in: AT_WORK }, tasks: { $elemMatch: { task_id: task, attempts: attempt - 1 } } },
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
     * running -> completed, or pending_human_input when a person has to agree; part of the transaction that also writes
     * the delivery. @returns the execution as it is then; null when that had happened before
     */
    endTask(
      { execution, task, attempt }: AttemptRef,
      output: string,
      human: boolean,
      session: ClientSession,
    ): Promise<CrewExecutionRecord | null> {
      const running = { $elemMatch: { task_id: task, attempts: attempt, status: 'running' as const } };
      return crewExecutions.findOneAndUpdate(
        { _id: execution, status: { $in: AT_WORK }, tasks: running },
        {
          $set: {
            'tasks.$.status': human ? 'pending_human_input' : 'completed',
            'tasks.$.output': output,
            ...(human ? { status: 'pending_human_input' } : {}),
          },
        },
        { session, returnDocument: 'after' },
      );
    },

    /** What a person answered, before it takes effect. */
    async addFeedback(feedback: CrewFeedbackRecord): Promise<void> {
      await crewFeedback.insertOne(feedback);
    },

    /** One that was refused. */
    async removeFeedback(id: string): Promise<void> {
      await crewFeedback.deleteOne({ _id: id, applied_at: null });
    },

    async isFeedbackApplied(id: string): Promise<boolean> {
      return (await crewFeedback.countDocuments({ _id: id, applied_at: { $ne: null } }, { limit: 1 })) === 1;
    },

    /** What took effect, oldest first. */
    listAppliedFeedback(execution: string): Promise<CrewFeedbackRecord[]> {
      return crewFeedback
        .find({ execution, applied_at: { $ne: null } })
        .sort({ applied_at: 1 })
        .toArray();
    },

    /**
     * pending_human_input -> running | retrying, with the URLs of the answer and no others; part of the transaction that
     * also writes the delivery. @returns the execution as it is then; null when it was not waiting for this
     */
    async resume(
      { execution, task, attempt, feedback, is_approve }: ResumeRef,
      now: Date,
      session: ClientSession,
    ): Promise<CrewExecutionRecord | null> {
      const answer = await crewFeedback.findOne({ _id: feedback, execution }, { session });
      if (!answer) return null;
      const waiting = { $elemMatch: { task_id: task, attempts: attempt, status: 'pending_human_input' as const } };
      const resumed = await crewExecutions.findOneAndUpdate(
        { _id: execution, status: 'pending_human_input', tasks: waiting },
        {
          $set: {
            status: is_approve ? 'running' : 'retrying',
            urls: answer.urls,
            'tasks.$.status': is_approve ? 'completed' : 'retrying',
            check_at: now,
          },
        },
        { session, returnDocument: 'after' },
      );
      if (!resumed) return null;
      const { output } = resumed.tasks.find(({ task_id }) => task_id === task)!;
      await crewFeedback.updateOne({ _id: feedback }, { $set: { applied_at: now, output } }, { session });
      return resumed;
    },

    /** Part of the transaction that also writes the delivery. @returns the execution as it ended; null when it had before */
    async finish(
      id: string,
      { status, error_message }: CrewOutcome,
      now: Date,
      session: ClientSession,
    ): Promise<CrewExecutionRecord | null> {
      const failing = { 'tasks.$[failed].status': 'error' as const };
      return crewExecutions.findOneAndUpdate(
        { _id: id, status: { $in: UNFINISHED } },
        {
          $set: {
            status,
            error_message: error_message ?? null,
            finished_at: now,
            expires_at: new Date(now.getTime() + retentionMs),
            ...(status === 'error' ? failing : {}),
          },
        },
        {
          session,
          returnDocument: 'after',
          ...(status === 'error'
            ? { arrayFilters: [{ 'failed.status': { $in: ['running', 'retrying', 'pending_human_input'] } }] }
            : {}),
        },
      );
    },

    /** Steps are needed no more, what people said goes with the execution. */
    async removeLeftovers(id: string, now: Date): Promise<void> {
      await crewSteps.deleteMany({ execution: id });
      await crewFeedback.deleteMany({ execution: id, applied_at: null });
      const expires_at = new Date(now.getTime() + retentionMs);
      await crewFeedback.updateMany({ execution: id, expires_at: null }, { $set: { expires_at } });
    },

    /**
     * Unfinished executions that are due for a look, oldest first; not due again before `next`, those that wait for a
     * person not before tomorrow.
     */
    takeStale(before: Date, next: Date, limit: number): Promise<CrewExecutionRecord[]> {
      const waiting = { $eq: ['$status', 'pending_human_input'] };
      return takeStale(
        crewExecutions,
        { status: { $in: UNFINISHED } },
        { before, next, limit },
        {
          projection: { inputs: 0, meta: 0, urls: 0, 'tasks.output': 0 },
          checkAt: { $cond: [waiting, new Date(next.getTime() + DAY_MS), next] },
        },
      );
    },
  };
}
