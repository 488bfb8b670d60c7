import type { ClientSession, Collection } from 'mongodb';
import type { WebhookUrls } from '../../domain/crews/crews.js';
import { BY_ID } from '../queries.js';
import type { CrewExecutionRecord } from './execution-record.js';

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
  /** Receivers of later callbacks. */
  urls: WebhookUrls;
  created_at: Date;
  /** Null until the workflow has applied the feedback. */
  applied_at: Date | null;
  /** Output of the attempt; set when the feedback is applied. */
  output: string | null;
  /** When MongoDB removes the record; null while the execution is unfinished. */
  expires_at: Date | null;
}

export type CrewFeedback = ReturnType<typeof createCrewFeedback>;

/** People's feedback. `CrewExecutions.resume` applies it; feedback that is not applied has no effect. */
export function createCrewFeedback({ crewFeedback }: { crewFeedback: Collection<CrewFeedbackRecord> }) {
  return {
    /** Stores feedback before the workflow applies it. */
    async add(feedback: CrewFeedbackRecord, tx?: ClientSession): Promise<void> {
      await crewFeedback.insertOne(feedback, { session: tx });
    },

    /** Removes feedback that was rejected; feedback that was applied stays. */
    async remove(org: string, id: string): Promise<void> {
      await crewFeedback.deleteOne({ _id: id, org, applied_at: null });
    },

    async isApplied(org: string, id: string): Promise<boolean> {
      const applied = { _id: id, org, applied_at: { $ne: null } };
      return (await crewFeedback.countDocuments(applied, { limit: 1, ...BY_ID })) === 1;
    },

    /** @returns the applied feedback of an execution, oldest first */
    listApplied({ _id, org }: Pick<CrewExecutionRecord, '_id' | 'org'>): Promise<CrewFeedbackRecord[]> {
      return crewFeedback
        .find({ org, execution: _id, applied_at: { $ne: null } })
        .sort({ applied_at: 1 })
        .toArray();
    },
  };
}
