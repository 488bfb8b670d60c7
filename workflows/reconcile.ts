import { patched, proxyActivities } from '@temporalio/workflow';
import type { ReconcileActivities } from '../activities/reconcile.js';
import { type JobReport, type ReconcileReport, STALE_KINDS, type StaleKind } from '../domain/workflow-contract.js';

// The schedule skips a run while another is running, so a killed worker must be noticed soon, and a slow job must end. The
// next run continues where it stopped.
const brief = {
  scheduleToCloseTimeout: '1 minute',
  heartbeatTimeout: '10 seconds',
  retry: { maximumAttempts: 3 },
} as const;
const long = { startToCloseTimeout: '1 hour', heartbeatTimeout: '10 seconds', retry: { maximumAttempts: 3 } } as const;

const { restartLostWork } = proxyActivities<ReconcileActivities>({ ...brief, summary: 'Start missing workflows' });
const { dropAbandonedFiles: dropFiles } = proxyActivities<ReconcileActivities>({
  ...long,
  summary: 'Delete abandoned files',
});
const { compactSearchIndex: compactIndex } = proxyActivities<ReconcileActivities>({
  ...long,
  summary: 'Compact the search index',
});

/** Kinds that were added later, with the patch that added each. */
const ADDED: Partial<Record<StaleKind, string>> = {
  delivery_lanes: 'delivery-lanes',
  replays: 'replays',
  authentications: 'authentications',
  index_rebuilds: 'index-rebuilds',
};

/**
 * Starts workflows that are missing because a process died after it had stored their record. Each kind of record is an
 * activity of its own, so none waits for another.
 */
export async function reconcile(): Promise<ReconcileReport> {
  if (!patched('an-activity-per-kind')) return reconcileInTurn();
  const kinds = STALE_KINDS.filter((kind) => !(kind in ADDED) || patched(ADDED[kind]!));
  const started = kinds.map(async (kind) => [kind, await restartLostWork(kind)] as const);
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

/** Runs that started before each job had an activity of its own. */
async function reconcileInTurn(): Promise<ReconcileReport> {
  const report = await (restartLostWork as unknown as () => Promise<unknown>)();
  await dropFiles();
  await compactIndex();
  return report as ReconcileReport;
}
