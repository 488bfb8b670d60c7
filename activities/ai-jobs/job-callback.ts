import { jobCallback } from '../../domain/ai-jobs/job-payload.js';
import { CALLBACK_DELIVERY_POLICY, type DeliveryPolicy } from '../../domain/webhooks/delivery-policy.js';
import type { AiJobs } from '../../storage/ai-jobs/jobs.js';
import type { SigningKeys } from '../../storage/ai-jobs/signing-keys.js';
import type { HeaderSealing } from '../../storage/webhooks/static-headers.js';
import type { Callback, Undeliverable } from '../webhooks/callback.js';

export interface AiJobCallbackDependencies {
  aiJobs: Pick<AiJobs, 'getById' | 'getResult'>;
  signingKeys: Pick<SigningKeys, 'openPrivateKey'>;
  jobHeaders: Pick<HeaderSealing, 'open'>;
}

const JOB_NOT_FOUND: Undeliverable = { error_code: 'JOB_NOT_FOUND', error_message: 'The job is no longer stored.' };

/** Callbacks of AI jobs, sent to the job's own receiver and signed with the key that was current at its creation. */
export function createAiJobCallback(
  { aiJobs, signingKeys, jobHeaders }: AiJobCallbackDependencies,
  policy: DeliveryPolicy = CALLBACK_DELIVERY_POLICY,
): Callback {
  return {
    policy,
    async prepare(delivery) {
      const job = await aiJobs.getById(delivery.org, delivery.doc_id);
      if (!job?.webhook_receiver || !job.signing_key) return JOB_NOT_FOUND;
      const result = await aiJobs.getResult(job.org, job._id);
      if (job.status === 'success' && !result) return JOB_NOT_FOUND;
      const privateKey = await signingKeys.openPrivateKey(job.org, job.signing_key);
      const { headers, body } = jobCallback(delivery._id, job, result, job.signing_key, privateKey, new Date());
      return { url: job.webhook_receiver, headers: { ...jobHeaders.open(job._id, job.headers), ...headers }, body };
    },
  };
}
