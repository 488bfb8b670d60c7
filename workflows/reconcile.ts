import { proxyActivities } from '@temporalio/workflow';
import type { ReconcileActivities } from '../activities/reconcile.js';
import type { ReconcileReport } from '../domain/workflow-contract.js';

const step = {
  startToCloseTimeout: '10 minutes',
  // The schedule skips a run while another is running, so a killed worker must be noticed soon.
  heartbeatTimeout: '15 seconds',
  retry: { maximumAttempts: 3 },
} as const;

const { restartLostWork } = proxyActivities<ReconcileActivities>({ ...step, summary: 'Start missing workflows' });
const { dropAbandonedFiles } = proxyActivities<ReconcileActivities>({ ...step, summary: 'Delete abandoned files' });
const { compactSearchIndex } = proxyActivities<ReconcileActivities>({ ...step, summary: 'Compact the search index' });

/** Runs on a schedule. Starts workflows that are missing because a process died after it had stored their record. */
export async function reconcile(): Promise<ReconcileReport> {
  const report = await restartLostWork();
  await dropAbandonedFiles();
  await compactSearchIndex();
  return report;
}
