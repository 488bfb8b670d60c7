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
import { showOutcome } from '../outcome.js';

/** A person asked for a retry: the record is due at once, so a wait is cut short. */
export const retryNow = defineSignal(RETRY_NOW);

// The first attempt rides in the workflow task: most deliveries succeed at once and cost the server least this way.
const { attemptDeliveryAtOnce } = proxyLocalActivities<DeliveryActivities>({
  startToCloseTimeout: '40 seconds',
  retry: { maximumAttempts: 1 },
  summary: 'The first attempt',
});

// Each retry of this activity is an attempt, at the time that the failed one named (`nextRetryDelay`); the intervals
// below only hold when the attempt could not even be recorded. Retries add no events to the history.
const { attemptDelivery } = proxyActivities<DeliveryActivities>({
  startToCloseTimeout: '40 seconds',
  summary: 'Further attempts, each a retry',
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

const RETRYING =
  'Not delivered yet. Each attempt of the pending activity is an attempt at the receiver: its last failure says what came of the latest, its schedule when the next one is.';

/** One delivery: pending -> sweeping -> delivered | failed; failed -> sweeping … until delivered | permanently_failed. */
export async function deliverWebhook(delivery: DeliveryRef): Promise<DeliveryProgress> {
  let retryAsked = false;
  let waiting: CancellationScope | undefined;
  setHandler(
    retryNow,
    () => {
      retryAsked = true;
      waiting?.cancel();
    },
    { description: 'Cuts the wait for the next attempt short; the API sends it when a person asks for a retry.' },
  );

  let progress = await attemptDeliveryAtOnce(delivery).catch(() => 'failed' as const);
  while (progress === 'failed' || (progress === 'permanently_failed' && retryAsked)) {
    retryAsked = false;
    setCurrentDetails(RETRYING);
    waiting = new CancellationScope();
    try {
      progress = await waiting.run(() => attemptDelivery(delivery));
    } catch (error) {
      // Cancelled while it waited, or ended by the cancellation in the middle of an attempt: either way a new turn.
      if (!retryAsked) throw error;
    }
  }
  setCurrentDetails('');
  if (progress === 'permanently_failed') showOutcome(progress);
  return progress;
}
