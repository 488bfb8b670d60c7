import {
  ActivityCancellationType,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { DeliveryActivities } from '../../activities/webhooks/deliver-webhook.js';
import { type LaneCounts, type LaneRef, WAKE_LANE } from '../../domain/webhooks/workflow-contract.js';

/** Sent when deliveries have been added to the lane. */
export const wake = defineSignal(WAKE_LANE);

// One activity sends many deliveries, and ends when the lane has been empty for a few seconds.
const { deliverLane: send } = proxyActivities<DeliveryActivities>({
  startToCloseTimeout: '2 hours',
  // Deliveries wait while a killed worker's lane is not noticed. Two lanes beside each other share the claims, so an early
  // timeout costs little.
  heartbeatTimeout: '6 seconds',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  summary: 'Attempts, counted in the heartbeat details',
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '5 seconds' },
});

/** Rounds of sending after which the workflow continues as new. */
const MAX_ROUNDS = 50;

/** One lane: sends first attempts of many deliveries while there are any. Those that fail get workflows of their own. */
export async function deliverLane({ lane, soFar = NONE }: LaneRef): Promise<LaneCounts> {
  let woken = true;
  setHandler(
    wake,
    () => {
      woken = true;
    },
    { description: 'Makes the lane look at its deliveries. Sent when deliveries have been added to it.' },
  );

  let counts = soFar;
  for (let round = 1; ; round += 1) {
    woken = false;
    setCurrentDetails(`Sending. ${describe(counts)} The heartbeat details of the pending activity count on from here.`);
    const { dueInMs, ...attempts } = await send({ lane });
    counts = add(counts, attempts);
    if (dueInMs === null && !woken) return counts;
    if (dueInMs !== null && dueInMs > 0) {
      setCurrentDetails(`Waiting for the next delivery that is due. ${describe(counts)}`);
      await condition(() => woken, dueInMs);
    }
    if (round === MAX_ROUNDS || workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof deliverLane>({ lane, soFar: counts });
    }
  }
}

const NONE: LaneCounts = { delivered: 0, failed: 0, permanently_failed: 0 };

function add(a: LaneCounts, b: LaneCounts): LaneCounts {
  return {
    delivered: a.delivered + b.delivered,
    failed: a.failed + b.failed,
    permanently_failed: a.permanently_failed + b.permanently_failed,
  };
}

function describe({ delivered, failed, permanently_failed }: LaneCounts): string {
  return `Attempts so far: ${delivered} delivered, ${failed} failed, ${permanently_failed} failed permanently.`;
}
