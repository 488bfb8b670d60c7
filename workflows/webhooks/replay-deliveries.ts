import {
  ActivityCancellationType,
  CancellationScope,
  continueAsNew,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import type { ReplayActivities } from '../../activities/webhooks/replay-deliveries.js';
import type { ReplayProgress, ReplayRef } from '../../domain/webhooks/workflow-contract.js';

const retry = { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' } as const;

const { replayBatches } = proxyActivities<ReplayActivities>({
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '10 seconds',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  summary: 'Requeue deliveries at the pace of their receiver',
  retry,
});

const { cancelReplay } = proxyActivities<ReplayActivities>({
  startToCloseTimeout: '1 minute',
  summary: 'Store that the replay was cancelled',
  retry,
});

/** Rounds after which the workflow continues as new. */
const MAX_ROUNDS = 100;

/** A bulk retry: running -> completed | cancelled. The sender makes the attempts at the deliveries that it requeues. */
export async function replayDeliveries(ref: ReplayRef): Promise<Pick<ReplayProgress, 'requeued'>> {
  try {
    for (let round = 1; ; round += 1) {
      const { requeued, matching, ended } = await replayBatches(ref);
      if (ended) return { requeued };
      setCurrentDetails(`${requeued} of about ${matching} deliveries have been requeued.`);
      if (round === MAX_ROUNDS || workflowInfo().continueAsNewSuggested) {
        await continueAsNew<typeof replayDeliveries>(ref);
      }
    }
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => cancelReplay(ref));
    throw error;
  }
}
