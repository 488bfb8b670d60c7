import { jobCallback } from '../../domain/ai-jobs/job-payload.js';
import { createSemaphore } from '../../domain/semaphore.js';
import { CALLBACK_DELIVERY_POLICY, type DeliveryPolicy } from '../../domain/webhooks/delivery-policy.js';
import type { AiJobRecord } from '../../storage/ai-jobs/job-record.js';
import type { AiJobs } from '../../storage/ai-jobs/jobs.js';
import type { SigningKeys } from '../../storage/ai-jobs/signing-keys.js';
import type { HeaderSealing } from '../../storage/webhooks/static-headers.js';
import { AttemptNotSent } from '../webhooks/attempt.js';
import type { Callback, CallbackRequest, Undeliverable } from '../webhooks/callback.js';

export interface AiJobCallbackDependencies {
  aiJobs: Pick<AiJobs, 'getById' | 'getResult' | 'getResultLength'>;
  signingKeys: Pick<SigningKeys, 'openPrivateKey'>;
  jobHeaders: Pick<HeaderSealing, 'open'>;
}

const JOB_NOT_FOUND: Undeliverable = { error_code: 'JOB_NOT_FOUND', error_message: 'The job is no longer stored.' };

/** A callback with more takes about four times its size, until its receiver has answered. */
const LARGE_CHARACTERS = 1024 * 1024;
/** Large callbacks at a time: a receiver that hangs could hold fifty of 50 MB each, and end the process for all others. */
const LARGE_AT_ONCE = 4;
/** Of one organisation, so that its receivers, when they hang, do not hold up the large callbacks of another. */
const LARGE_OF_ONE = 2;
/**
 * How long a large one waits for its turn. Its claim ends a few seconds after the attempt, and a receiver whose attempts take two
 * seconds would count as slow.
 */
const LONGEST_WAIT_MS = 1_500;

/** Callbacks of AI jobs, sent to the job's own receiver and signed with the key that was current at its creation. */
export function createAiJobCallback(
  { aiJobs, signingKeys, jobHeaders }: AiJobCallbackDependencies,
  policy: DeliveryPolicy = CALLBACK_DELIVERY_POLICY,
): Callback {
  const places = createSemaphore({ places: LARGE_AT_ONCE, perOwner: LARGE_OF_ONE });

  return {
    policy,
    async prepare(delivery) {
      const job = await aiJobs.getById(delivery.org, delivery.doc_id);
      if (!job?.webhook_receiver || !job.signing_key) return JOB_NOT_FOUND;
      const isLarge = !job.quick && (await aiJobs.getResultLength(job.org, job._id)) > LARGE_CHARACTERS;
      return isLarge ? inTurn(job.org, () => build(delivery._id, job)) : build(delivery._id, job);
    },
  };

  async function inTurn(org: string, work: () => Promise<CallbackRequest | Undeliverable>) {
    const release = await places.acquire(AbortSignal.timeout(LONGEST_WAIT_MS), org).catch(() => {
      throw new AttemptNotSent('too many large callbacks are in progress');
    });
    try {
      const request = await work();
      if (!('error_code' in request)) return { ...request, release };
      release();
      return request;
    } catch (error) {
      release();
      throw error;
    }
  }

  async function build(delivery: string, job: AiJobRecord): Promise<CallbackRequest | Undeliverable> {
    const result = await aiJobs.getResult(job.org, job._id);
    if (job.status === 'success' && !result) return JOB_NOT_FOUND;
    const privateKey = await signingKeys.openPrivateKey(job.org, job.signing_key!);
    const { headers, body } = jobCallback(delivery, job, result, job.signing_key!, privateKey, new Date());
    return { url: job.webhook_receiver!, headers: { ...jobHeaders.open(job._id, job.headers), ...headers }, body };
  }
}
