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

// Inside the workflow task. Most deliveries succeed at once, and this costs the server least.
const { deliverAtOnce } = proxyLocalActivities<DeliveryActivities>({
  startToCloseTimeout: '40 seconds',
  retry: { maximumAttempts: 1 },
  summary: 'First attempt',
});

// Each retry of this activity asks the sender for one attempt, at the time that the record gave (`nextRetryDelay`). The intervals
// below only apply when the sender could not be asked. Retries add no events to the history.
const { followDelivery } = proxyActivities<DeliveryActivities>({
  startToCloseTimeout: '1 minute',
  summary: 'Further attempts, one per retry',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

const RETRYING =
  'Not delivered yet. The last failure of the pending activity is the result of the latest attempt, and its next scheduled time is that of the next attempt.';

/**
 * Follows one delivery: pending -> sweeping -> delivered | failed; failed -> sweeping … until delivered | permanently_failed. The
 * sender makes the attempts, when the record of the delivery says.
 */
export async function deliverWebhook(delivery: DeliveryRef): Promise<DeliveryProgress> {
  let retryRequested = false;
  let following: CancellationScope | undefined;
  setHandler(
    retryNow,
    () => {
      retryRequested = true;
      following?.cancel();
    },
    { description: 'Ends the wait for the next attempt. The API sends it when a person requests a retry.' },
  );

  let progress = await deliverAtOnce(delivery).catch(() => 'failed' as const);
  while (progress === 'failed' || (progress !== 'delivered' && retryRequested)) {
    retryRequested = false;
    setCurrentDetails(RETRYING);
    following = new CancellationScope();
    try {
      progress = await following.run(() => followDelivery(delivery));
    } catch (error) {
      // The signal cancelled the wait, or an attempt in progress. Both are followed anew.
      if (!retryRequested) throw error;
    }
  }
  setCurrentDetails('');
  if (progress === 'permanently_failed') showOutcome(progress);
  return progress;
}
