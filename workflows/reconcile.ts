import { proxyActivities } from '@temporalio/workflow';
import type { ReconcileActivities } from '../activities/reconcile.js';
import type { ReconcileReport } from '../domain/workflow-contract.js';

const step = {
  startToCloseTimeout: '10 minutes',
  // The schedule starts no run while another runs: a killed worker must not hold the next one up for long.
  heartbeatTimeout: '15 seconds',
  retry: { maximumAttempts: 3 },
} as const;

const { restartLostWork } = proxyActivities<ReconcileActivities>({ ...step, summary: 'Start missing workflows' });
const { dropAbandonedFiles } = proxyActivities<ReconcileActivities>({ ...step, summary: 'Remove abandoned files' });
const { compactSearchIndex } = proxyActivities<ReconcileActivities>({ ...step, summary: 'Compact the search index' });

/** Runs on a schedule. Starts workflows that a crash between a database write and the start has left missing. */
export async function reconcile(): Promise<ReconcileReport> {
  const restarted = await restartLostWork();
  await dropAbandonedFiles();
  await compactSearchIndex();
  return restarted;
}
