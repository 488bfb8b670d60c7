import type { Collection } from 'mongodb';
import type { WebhookUrls } from '../../domain/crews/crews.js';

/** A person's feedback on one attempt at a task. */
export interface CrewFeedbackRecord {
  /** `fbk_…` */
  _id: string;
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
    async add(feedback: CrewFeedbackRecord): Promise<void> {
      await crewFeedback.insertOne(feedback);
    },

    /** Removes feedback that was rejected; feedback that was applied stays. */
    async remove(id: string): Promise<void> {
      await crewFeedback.deleteOne({ _id: id, applied_at: null });
    },

    async isApplied(id: string): Promise<boolean> {
      return (await crewFeedback.countDocuments({ _id: id, applied_at: { $ne: null } }, { limit: 1 })) === 1;
    },

    /** @returns the applied feedback of an execution, oldest first */
    listApplied(execution: string): Promise<CrewFeedbackRecord[]> {
      return crewFeedback
        .find({ execution, applied_at: { $ne: null } })
        .sort({ applied_at: 1 })
        .toArray();
    },
  };
}
