import { continueAsNew, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { SyncActivities } from '../../activities/connectors/sync-connector.js';
import type { SyncRef } from '../../domain/connectors/workflow-contract.js';

const { removeRemains } = proxyActivities<SyncActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '20 seconds',
  summary: 'Remove what it has left',
  retry: { maximumInterval: '1 minute' },
});

/** A deleted connector: its items, where that was asked for, and all it remembers of its resources. */
export async function removeConnector(connector: SyncRef): Promise<void> {
  while (await removeRemains(connector)) {
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof removeConnector>(connector);
  }
}
