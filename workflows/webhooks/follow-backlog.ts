import { continueAsNew, proxyActivities, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';
import type { DeliveryActivities } from '../../activities/webhooks/deliver-webhook.js';
import type { BacklogRef } from '../../domain/webhooks/workflow-contract.js';

const { countBacklog } = proxyActivities<DeliveryActivities>({
  startToCloseTimeout: '1 minute',
  summary: 'Count the deliveries that wait without a workflow',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

/** Looks after which the workflow continues as new. */
const MAX_LOOKS = 200;

/**
 * Shows the failed deliveries of a receiver beyond the thousand that have workflows of their own. The sender attempts them when they
 * are due. Ends when none is left.
 */
export async function followBacklog(ref: BacklogRef): Promise<void> {
  for (let look = 1; ; look += 1) {
    const waiting = await countBacklog(ref);
    if (waiting === 0) return;
    setCurrentDetails(
      `About ${waiting} more deliveries of ${ref.event_type} wait for their next attempt. Their records say when each is due.`,
    );
    await sleep('5 minutes');
    if (look === MAX_LOOKS || workflowInfo().continueAsNewSuggested) await continueAsNew<typeof followBacklog>(ref);
  }
}
