import { proxyActivities } from '@temporalio/workflow';
import type { ContentActivities } from '../../activities/content/index-item.js';
import type { IngestRef } from '../../domain/content/workflow-contract.js';

const { startItems } = proxyActivities<ContentActivities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '20 seconds',
  summary: 'Start the workflow of each item',
  retry: { maximumInterval: '30 seconds' },
});

/** Everything an ingest request has queued gets its workflow, however many items that is. @returns how many */
export async function startIngestedItems(ingest: IngestRef): Promise<number> {
  return await startItems(ingest);
}
