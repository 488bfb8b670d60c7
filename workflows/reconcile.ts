import { proxyActivities } from '@temporalio/workflow';
import type { ReconcileActivities } from '../activities/reconcile.js';
import { type JobReport, type ReconcileReport, STALE_KINDS, type SweepRef } from '../domain/workflow-contract.js';

// The schedule skips a run while another is running, so a killed worker must be noticed soon, and a slow job must end. The
// next run continues where it stopped.
const long = (summary: string) =>
  proxyActivities<ReconcileActivities>({
    startToCloseTimeout: '1 hour',
    heartbeatTimeout: '10 seconds',
    retry: { maximumAttempts: 3 },
    summary,
  });

const { restartLostWork } = proxyActivities<ReconcileActivities>({
  scheduleToCloseTimeout: '1 minute',
  heartbeatTimeout: '10 seconds',
  retry: { maximumAttempts: 3 },
  summary: 'Start missing workflows',
});
const { dropAbandonedFiles: dropFiles } = long('Delete abandoned files');
const { compactSearchIndex: compactIndex } = long('Compact the search index');

/**
 * Starts workflows that are missing because a process died after it had stored their record. Each kind of record is an
 * activity of its own, so none waits for another.
 */
export async function reconcile(sweep: SweepRef = {}): Promise<ReconcileReport> {
  const started = STALE_KINDS.map(async (kind) => [kind, await restartLostWork(kind, sweep.quiet_ms)] as const);
  await Promise.allSettled(started);
  return Object.fromEntries(await Promise.all(started)) as ReconcileReport;
}

/** Removes files that no record owns. */
export async function dropAbandonedFiles(): Promise<JobReport> {
  return await dropFiles();
}

/** Compacts the search index of every database. */
export async function compactSearchIndex(): Promise<JobReport> {
  return await compactIndex();
}
