import { ActivityFailure, continueAsNew, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { SyncActivities } from '../../activities/connectors/sync-connector.js';
import { SYNC_ENDED, type SyncOutcome, type SyncRef } from '../../domain/connectors/workflow-contract.js';
import { INTERNAL_ERROR } from '../../domain/workflow-contract.js';
import { clientFailureOf, hasFailureType } from '../failures.js';
import { showOutcome } from '../outcome.js';

const retry = {
  initialInterval: '2 seconds',
  backoffCoefficient: 3,
  maximumInterval: '1 minute',
  maximumAttempts: 5,
} as const;
// A site may ask for a minute between two of its pages.
const step = { startToCloseTimeout: '1 hour', heartbeatTimeout: '20 seconds', retry } as const;

const { listResources } = proxyActivities<SyncActivities>({ ...step, summary: 'List what the source has' });
const { fetchResources } = proxyActivities<SyncActivities>({ ...step, summary: 'Fetch what may have changed' });
const { removeVanished } = proxyActivities<SyncActivities>({ ...step, summary: 'Remove what the source has no more' });
const { beginSync } = proxyActivities<SyncActivities>({ ...step, summary: 'Begin' });
const { endSync } = proxyActivities<SyncActivities>({ ...step, retry: {}, summary: 'Write how it ended' });

/**
 * One sync of a connector. How far it has come stands with the connector, so a new run of it, or another attempt of a
 * step, goes on where the last one stopped. A listing that fails removes nothing.
 */
export async function syncConnector(connector: SyncRef): Promise<SyncOutcome | typeof SYNC_ENDED> {
  const sync = connector.sync ?? (await beginSync(connector));
  if (sync === null) return SYNC_ENDED;
  const ref = { ...connector, sync };
  try {
    while (await listResources(ref)) await goOnAfresh(ref);
    while ((await fetchResources(ref)) > 0) await goOnAfresh(ref);
    while ((await removeVanished(ref)) > 0) await goOnAfresh(ref);
  } catch (error) {
    if (hasFailureType(error, SYNC_ENDED)) return SYNC_ENDED;
    const failure = failureOf(error);
    await endSync(ref, failure);
    showOutcome('failed');
    return failure;
  }
  const outcome: SyncOutcome = { status: 'completed' };
  await endSync(ref, outcome);
  return outcome;
}

/** Goes on in a new run when the history of this one has become long. */
async function goOnAfresh(ref: Required<SyncRef>): Promise<void> {
  if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof syncConnector>(ref);
}

function failureOf(error: unknown): SyncOutcome {
  if (!(error instanceof ActivityFailure)) throw error;
  const failure = clientFailureOf(error) ?? {
    code: INTERNAL_ERROR,
    message: 'The sync failed for an internal reason.',
  };
  return { status: 'failed', error_code: failure.code, error_message: failure.message };
}
