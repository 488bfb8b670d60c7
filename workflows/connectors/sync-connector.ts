import {
  ActivityFailure,
  CancellationScope,
  continueAsNew,
  isCancellation,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { ConnectorRemovalActivities } from '../../activities/connectors/remove-connector.js';
import type { SyncActivities } from '../../activities/connectors/sync-connector.js';
import {
  type StartedSync,
  SYNC_CANCELLED,
  SYNC_ENDED,
  type SyncOutcome,
  type SyncRef,
} from '../../domain/connectors/workflow-contract.js';
import { INTERNAL_ERROR } from '../../domain/workflow-contract.js';
import { clientFailureOf, hasFailureType, showOutcome } from '../failures.js';

const retry = {
  initialInterval: '2 seconds',
  backoffCoefficient: 3,
  maximumInterval: '1 minute',
  maximumAttempts: 5,
} as const;
// A site may require a pause of a minute between two requests.
const step = { startToCloseTimeout: '1 hour', heartbeatTimeout: '10 seconds', retry } as const;

const { beginSync } = proxyActivities<SyncActivities>({ ...step, summary: 'Start the sync' });
const { listResources } = proxyActivities<SyncActivities>({ ...step, summary: 'List the resources of the source' });
const { fetchResources } = proxyActivities<SyncActivities>({ ...step, summary: 'Fetch resources that may be changed' });
const { removeVanished } = proxyActivities<SyncActivities>({ ...step, summary: 'Delete items of vanished resources' });
const { endSync } = proxyActivities<SyncActivities>({ ...step, retry: {}, summary: 'Store the outcome' });
const { removeRemains } = proxyActivities<ConnectorRemovalActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '10 seconds',
  summary: 'Delete the items and the resource records',
  retry: { maximumInterval: '1 minute' },
});

/**
 * One sync of a connector: running -> completed | failed. Its progress is stored in MongoDB, so a new run or a retried
 * activity continues where the last one stopped. When the listing fails, nothing is deleted. A cancelled sync has failed.
 */
export async function syncConnector(connector: SyncRef): Promise<SyncOutcome | typeof SYNC_ENDED> {
  // A sync that has begun must end in a stored state, so its first and last steps cannot be cancelled.
  const sync = connector.sync ?? (await CancellationScope.nonCancellable(() => beginSync(connector)));
  if (sync === null) return SYNC_ENDED;
  const ref = { ...connector, sync };
  try {
    while (await listResources(ref)) await limitHistory(ref);
    while ((await fetchResources(ref)) > 0) await limitHistory(ref);
    while ((await removeVanished(ref)) > 0) await limitHistory(ref);
  } catch (error) {
    if (hasFailureType(error, SYNC_ENDED)) return SYNC_ENDED;
    const failure = failureOf(error);
    await CancellationScope.nonCancellable(() => endSync(ref, failure));
    showOutcome('failed');
    if (isCancellation(error)) throw error;
    return failure;
  }
  const outcome: SyncOutcome = { status: 'completed' };
  await CancellationScope.nonCancellable(() => endSync(ref, outcome));
  return outcome;
}

/** Deletes the data of a deleted connector: its resource records and, when that was requested, its items. */
export async function removeConnector(connector: SyncRef): Promise<void> {
  while (await removeRemains(connector)) {
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof removeConnector>(connector);
  }
}

/** Continues in a new run when the history of this run has become long. */
async function limitHistory(ref: StartedSync): Promise<void> {
  if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof syncConnector>(ref);
}

function failureOf(error: unknown): SyncOutcome {
  if (isCancellation(error)) {
    return { status: 'failed', error_code: SYNC_CANCELLED, error_message: 'The sync was cancelled.' };
  }
  if (!(error instanceof ActivityFailure)) throw error;
  const failure = clientFailureOf(error) ?? {
    code: INTERNAL_ERROR,
    message: 'The sync failed because of an internal error.',
  };
  return { status: 'failed', error_code: failure.code, error_message: failure.message };
}
