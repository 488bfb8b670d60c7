import { proxyActivities } from '@temporalio/workflow';
import type { SweepActivities } from '../activities/sweep.js';
import type { SweepFindings } from '../domain/work.js';

const step = {
  startToCloseTimeout: '10 minutes',
  // The schedule starts no sweep while one runs: a killed worker must not hold the next one up for long.
  heartbeatTimeout: '15 seconds',
  retry: { maximumAttempts: 3 },
} as const;

const { restartLostWork } = proxyActivities<SweepActivities>({ ...step, summary: 'Start lost work' });
const { dropAbandonedFiles } = proxyActivities<SweepActivities>({ ...step, summary: 'Drop files nobody needs' });
const { compactSearchIndex } = proxyActivities<SweepActivities>({ ...step, summary: 'Compact the search index' });

/** Runs on a schedule: what a crash between a database write and a workflow start has left behind is started. */
export async function sweep(): Promise<SweepFindings> {
  const restarted = await restartLostWork();
  await dropAbandonedFiles();
  await compactSearchIndex();
  return restarted;
}
