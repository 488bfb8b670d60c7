import { proxyActivities } from '@temporalio/workflow';
import type { RemovalActivities } from '../../activities/content/clear-items.js';
import type { RemovalRef } from '../../domain/content/workflow-contract.js';

const { clearRemovedItems: clear } = proxyActivities<RemovalActivities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '20 seconds',
  summary: 'Clear away chunks, index rows, graph and files',
  retry: { maximumInterval: '1 minute' },
});

/** Deleted items are gone for every reader; this clears away what they have left behind. @returns how many items */
export async function clearRemovedItems(removal: RemovalRef): Promise<number> {
  return await clear(removal);
}
