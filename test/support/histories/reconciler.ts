import { reconcile } from '../reconcile.js';
import type { Recording } from './recording.js';

/** Records the jobs of the reconciler. */
export async function recordReconciler({ product, record, newest }: Recording): Promise<void> {
  await reconcile(product);
  for (const [name, type] of [
    ['reconcile', 'reconcile'],
    ['drop-abandoned-files', 'dropAbandonedFiles'],
    ['compact-search-index', 'compactSearchIndex'],
  ]) {
    await record(name!, await newest(`WorkflowType="${type}" AND ExecutionStatus="Completed"`));
  }
}
