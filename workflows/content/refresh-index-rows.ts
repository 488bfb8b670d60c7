import { proxyActivities } from '@temporalio/workflow';
import type { IndexRowsActivities } from '../../activities/content/clear-items.js';
import type { ItemRef } from '../../domain/content/workflow-contract.js';

const { refreshIndexRows: refresh } = proxyActivities<IndexRowsActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '20 seconds',
  summary: 'Write its index rows again',
  retry: { maximumInterval: '1 minute' },
});

/** An item's metadata were changed and its index rows could not be written: they follow as soon as they can. */
export async function refreshIndexRows(item: ItemRef): Promise<void> {
  await refresh(item);
}
