import { newDeliveryId } from '../domain/ids.js';
import type { JobOutcome, JobRef } from '../domain/work.js';
import type { AiJobs } from '../storage/ai-jobs.js';
import { pendingDelivery } from '../storage/deliveries.js';
import type { PartsStore } from '../storage/parts.js';
import { createEnding, type EndingDependencies } from './ending.js';

/** Ends an AI job, and announces it where the job named a receiver. */
export function createFinishJob(deps: EndingDependencies & { aiJobs: AiJobs; parts: PartsStore }) {
  const end = createEnding(deps);
  return async (ref: JobRef, outcome: JobOutcome): Promise<void> => {
    const subject = `ai-job/${ref.job}`;
    await end(subject, async (session, now) => {
      const job = await deps.aiJobs.finish(ref.job, outcome, now, session);
      if (!job) return undefined;
      if (job.webhook_receiver === null) return null;
      const announcement = { _id: newDeliveryId(), org: job.org, subject, doc_id: job._id, now };
      return pendingDelivery({ ...announcement, event_type: 'async_job_completed', url: job.webhook_receiver });
    });
    await deps.parts.drop(ref.job);
  };
}
