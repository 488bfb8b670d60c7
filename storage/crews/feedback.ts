import type { ClientSession } from 'mongodb';
import type { WebhookUrls } from '../../domain/crews/crews.js';
import type { Decider } from '../../domain/crews/decisions.js';
import type { AttemptRef } from '../../domain/crews/workflow-contract.js';
import { newFeedbackId } from '../../domain/ids.js';
import type { Access } from '../collections.js';
import type { OwnFilter } from '../organisation-records.js';
import type { StoredHeaders } from '../webhooks/static-headers.js';

/** A person's feedback on one attempt at a task. */
export interface CrewFeedbackRecord {
  /** `fbk_…` */
  _id: string;
  org: string;
  execution: string;
  task: string;
  attempt: number;
  text: string;
  is_approve: boolean;
  /** Absent in feedback of earlier releases. */
  decided_by?: Decider | undefined;
  /** Receivers of later callbacks. */
  urls: WebhookUrls;
  /** Static headers of those receivers. */
  headers?: StoredHeaders | null;
  created_at: Date;
  /** Null until the workflow has applied the feedback. */
  applied_at: Date | null;
  /** Output of the attempt; set when the feedback is applied. */
  output: string | null;
  /** When MongoDB removes the record; null while the execution is unfinished. */
  expires_at: Date | null;
}

/** Feedback that is to be applied to an attempt. It is rejected when there is a newer attempt. */
export function newFeedback(
  { execution, org, task, attempt }: AttemptRef,
  decision: Pick<CrewFeedbackRecord, 'text' | 'is_approve' | 'urls' | 'headers' | 'decided_by' | 'created_at'>,
): CrewFeedbackRecord {
  const pending = { applied_at: null, output: null, expires_at: null };
  return { _id: newFeedbackId(), org, execution, task, attempt, ...decision, ...pending };
}

export type CrewFeedback = ReturnType<typeof createCrewFeedback>;

/** People's feedback. `CrewExecutions.resume` applies it; feedback that is not applied has no effect. */
export function createCrewFeedback({ crewFeedback }: Access<'crewFeedback'>) {
  return {
    /** Stores feedback before the workflow applies it. */
    async add(feedback: CrewFeedbackRecord, tx?: ClientSession): Promise<void> {
      await crewFeedback.forOrg(feedback.org).insertOne(feedback, { session: tx });
    },

    /** Removes feedback that was rejected; feedback that was applied stays. */
    async remove(org: string, id: string): Promise<void> {
      await crewFeedback.forOrg(org).deleteOne({ _id: id, applied_at: null });
    },

    /** @returns the decision on an attempt; null when nobody has decided on it */
    findApplied({ execution, org, task, attempt }: AttemptRef): Promise<CrewFeedbackRecord | null> {
      return crewFeedback.forOrg(org).findOne({ execution, applied_at: { $ne: null }, task, attempt });
    },

    /**
     * The latest feedback that an attempt gets. Bounded here, because a task can be rejected any number of times, and the record of
     * each rejection has an output.
     * @returns the remarks on other tasks and the rejections of this one, oldest first
     */
    async listForAttempt({ execution, org, task, attempt }: AttemptRef, limit: number) {
      const latest = async (filter: OwnFilter<CrewFeedbackRecord>) => {
        const applied = { ...filter, execution, applied_at: { $ne: null } };
        const found = await crewFeedback.forOrg(org).find(applied).sort({ applied_at: -1 }).limit(limit).toArray();
        return found.reverse();
      };
      const [remarks, rejections] = await Promise.all([
        latest({ task: { $ne: task } }),
        latest({ task, is_approve: false, attempt: { $lt: attempt } }),
      ]);
      return { remarks, rejections };
    },
  };
}
