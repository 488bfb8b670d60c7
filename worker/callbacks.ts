import { createAiJobCallback } from '../activities/ai-jobs/job-callback.js';
import type { Callback } from '../activities/webhooks/callback.js';
import { createIndexingCallback } from '../activities/webhooks/indexing-callback.js';
import { createMessageCallback, forCrewEvents } from '../activities/webhooks/message-callback.js';
import {
  createOperatorCallback,
  type FailureNotices,
  type OperatorReceiver,
} from '../activities/webhooks/operator-callback.js';
import {
  CALLBACK_DELIVERY_POLICY,
  DAY_MS,
  INDEXING_DELIVERY_POLICY,
  withSchedule,
} from '../domain/webhooks/delivery-policy.js';
import { type CallbackEvent, OPERATOR_NOTICE } from '../domain/webhooks/events.js';
import type { Config } from '../runtime/config.js';
import type { WorkerDependencies } from './dependencies.js';

/** How the callback of each event is built, signed and retried. */
export function createCallbacks(
  config: Config,
  dependencies: WorkerDependencies & { notices: FailureNotices },
): Record<CallbackEvent, Callback> {
  const { crewSigningSecrets, crewHeaders, paymentSigningSecrets } = dependencies;
  const disableAfterDays = config.POSTBACK_WEBHOOK_DISABLE_AFTER_DAYS;
  const policy = withSchedule(CALLBACK_DELIVERY_POLICY, config.POSTBACK_CALLBACK_SCHEDULE_MS);
  const webhookPolicy = {
    ...withSchedule(INDEXING_DELIVERY_POLICY, config.POSTBACK_DELIVERY_SCHEDULE_MS),
    timeoutMs: config.POSTBACK_DELIVERY_TIMEOUT_MS,
  };
  return {
    ...forCrewEvents(
      createMessageCallback({ policy: webhookPolicy, secrets: crewSigningSecrets, headers: crewHeaders }),
    ),
    async_job_completed: createAiJobCallback(dependencies, policy),
    [OPERATOR_NOTICE]: createOperatorCallback(operatorReceiver(config), webhookPolicy),
    'authentication.ended': createMessageCallback({
      policy: webhookPolicy,
      secrets: paymentSigningSecrets,
      alwaysSigned: true,
    }),
    'indexing.status_changed': createIndexingCallback({
      ...dependencies,
      policy: webhookPolicy,
      disableAfterMs: disableAfterDays === 0 ? null : disableAfterDays * DAY_MS,
    }),
  };
}

/** @throws Error when the setting of the secret is missing */
function operatorReceiver(config: Config): OperatorReceiver | null {
  const { POSTBACK_OPERATOR_WEBHOOK_URL: url, POSTBACK_OPERATOR_WEBHOOK_SECRET: secret } = config;
  // Other workers send no callbacks, and may have the address without the secret.
  if (url === undefined || !config.POSTBACK_QUEUES.includes('deliveries')) return null;
  if (secret === undefined) throw new Error('POSTBACK_OPERATOR_WEBHOOK_URL needs POSTBACK_OPERATOR_WEBHOOK_SECRET.');
  return { url, secret };
}
