import {
  ActivityCancellationType,
  CancellationScope,
  continueAsNew,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { RebuildActivities } from '../../activities/content/rebuild-index.js';
import type { RebuildProgress, RebuildRef } from '../../domain/content/workflow-contract.js';

// Attempts are unlimited: the model becomes available again, or an operator corrects the settings or cancels the rebuild.
const options = {
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '10 seconds',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
} as const;

const { planRebuild } = proxyActivities<RebuildActivities>({ ...options, summary: 'Count what is to be embedded' });
const { embedChunks } = proxyActivities<RebuildActivities>({ ...options, summary: 'Embed chunks for the new index' });
const { switchIndex } = proxyActivities<RebuildActivities>({ ...options, summary: 'Switch to the new index' });
const { cancelRebuild } = proxyActivities<RebuildActivities>({ ...options, summary: 'Leave the old index in use' });
const { removeOldIndexes } = proxyActivities<RebuildActivities>({ ...options, summary: 'Remove unused indexes' });

/** Rounds after which the workflow continues as new. */
const MAX_ROUNDS = 200;
/** How long an unused index stays, for queries in progress. */
const GRACE_MS = 60_000;

/**
 * Embeds all chunks with another model beside the old indexes, and switches one database after the other. Its progress is in
 * MongoDB, so it continues where a killed worker stopped. Cancelled, it leaves the indexes that are in use.
 */
export async function rebuildIndex(ref: RebuildRef): Promise<RebuildProgress> {
  try {
    await planRebuild(ref);
    for (let round = 1; ; round += 1) {
      const progress = await embedChunks(ref);
      if (progress.ended) {
        await removeUnused(ref);
        return progress;
      }
      show(progress);
      if (progress.embedded) await switchIndex(ref, progress.embedded);
      if (round === MAX_ROUNDS || workflowInfo().continueAsNewSuggested) await continueAsNew<typeof rebuildIndex>(ref);
    }
  } catch (error) {
    if (isCancellation(error)) {
      await CancellationScope.nonCancellable(async () => {
        await cancelRebuild(ref);
        await removeUnused(ref);
      });
    }
    throw error;
  }
}

function show({ handled, chunks, remaining }: RebuildProgress): void {
  setCurrentDetails(`${handled} of about ${chunks} chunks are embedded; databases that remain: ${remaining}.`);
}

async function removeUnused({ grace_ms = GRACE_MS }: RebuildRef): Promise<void> {
  await sleep(grace_ms);
  await removeOldIndexes(grace_ms);
}
