import { randomUUID } from 'node:crypto';
import type { ReconcileReport, TaskQueue } from '../../domain/workflow-contract.js';
import { connectTemporal } from '../../temporal/connection.js';
import type * as workflows from '../../workflows/index.js';
import type { ProductAddress } from './product.js';

const taskQueue: TaskQueue = 'control';

/** Runs the product's reconciler now, and resolves with its report when it has ended. */
export async function reconcile({ temporalAddress }: ProductAddress, namespace = 'default'): Promise<ReconcileReport> {
  const temporal = await connectTemporal(temporalAddress, namespace);
  const options = (job: string) => ({ taskQueue, workflowId: `${job}-in-a-test-${randomUUID()}` });
  try {
    const [report] = await Promise.all([
      temporal.workflow.execute<typeof workflows.reconcile>('reconcile', options('reconcile')),
      temporal.workflow.execute<typeof workflows.dropAbandonedFiles>('dropAbandonedFiles', options('files')),
    ]);
    return report;
  } finally {
    await temporal.connection.close();
  }
}
