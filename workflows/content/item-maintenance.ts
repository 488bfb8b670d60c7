/** Workflows of one activity each, which Temporal retries until it succeeds. */
import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { ItemRemovalActivities } from '../../activities/content/clear-items.js';
import type { ItemMaintenanceActivities } from '../../activities/content/item-maintenance.js';
import type { IngestRef, ItemRef, RemovalRef } from '../../domain/content/workflow-contract.js';

const { startItems } = proxyActivities<ItemMaintenanceActivities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '10 seconds',
  summary: 'Start the workflow of each item',
  retry: { maximumInterval: '30 seconds' },
});
const { clearRemovedItems: clearItems } = proxyActivities<ItemRemovalActivities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '10 seconds',
  summary: 'Delete chunks, index rows, graph and files',
  retry: { maximumInterval: '1 minute' },
});
const { refreshIndexRows: writeIndexRows } = proxyActivities<ItemMaintenanceActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '10 seconds',
  summary: 'Rewrite the index rows of the item',
  retry: { maximumInterval: '1 minute' },
});

/** Starts a workflow for every item that an ingest request queued. @returns the number of items */
export async function startIngestedItems(ingest: IngestRef): Promise<number> {
  return await startItems(ingest, workflowInfo().priority?.priorityKey);
}

/** Deleted items are invisible to readers at once; this deletes their data. @returns the number of items */
export async function clearRemovedItems(removal: RemovalRef): Promise<number> {
  return await clearItems(removal);
}

/** Rewrites an item's index rows after a change of its metadata, when the request that changed it could not. */
export async function refreshIndexRows(item: ItemRef): Promise<void> {
  await writeIndexRows(item);
}
