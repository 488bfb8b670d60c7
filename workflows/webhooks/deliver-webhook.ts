import {
  CancellationScope,
  defineSignal,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type { DeliveryActivities, DeliveryProgress } from '../../activities/webhooks/deliver-webhook.js';
import { type DeliveryRef, RETRY_NOW } from '../../domain/webhooks/workflow-contract.js';
import { showOutcome } from '../failures.js';

/** Sent when a person requests a retry: the delivery is due at once, so the wait for the next attempt ends. */
export const retryNow = defineSignal(RETRY_NOW);

// The first attempt runs inside the workflow task. Most deliveries succeed at once, and this costs the server least.
const { attemptDeliveryAtOnce } = proxyLocalActivities<DeliveryActivities>({
  startToCloseTimeout: '40 seconds',
  retry: { maximumAttempts: 1 },
  summary: 'First attempt',
});

// Each retry of this activity is one attempt, at the time that the failed attempt gave (`nextRetryDelay`). The intervals
// below only apply when an attempt could not be recorded. Retries add no events to the history.
const { attemptDelivery } = proxyActivities<DeliveryActivities>({
  startToCloseTimeout: '40 seconds',
  summary: 'Further attempts, one per retry',
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

const RETRYING =
  'Not delivered yet. Each attempt of the pending activity is one attempt to deliver: the last failure of the activity is the result of the latest attempt, and its next scheduled time is that of the next attempt.';

/** One delivery: pending -> sweeping -> delivered | failed; failed -> sweeping … until delivered | permanently_failed. */
export async function deliverWebhook(delivery: DeliveryRef): Promise<DeliveryProgress> {
  let retryRequested = false;
  let attempts: CancellationScope | undefined;
  setHandler(
    retryNow,
    () => {
      retryRequested = true;
      attempts?.cancel();
    },
    { description: 'Ends the wait for the next attempt. The API sends it when a person requests a retry.' },
  );

  let progress = await attemptDeliveryAtOnce(delivery).catch(() => 'failed' as const);
  while (progress === 'failed' || (progress === 'permanently_failed' && retryRequested)) {
    retryRequested = false;
    setCurrentDetails(RETRYING);
    attempts = new CancellationScope();
    try {
      progress = await attempts.run(() => attemptDelivery(delivery));
    } catch (error) {
      // The signal cancelled the wait, or an attempt in progress. Both need a new attempt.
      if (!retryRequested) throw error;
    }
  }
  setCurrentDetails('');
  if (progress === 'permanently_failed') showOutcome(progress);
  return progress;
}
