import { randomUUID } from 'node:crypto';
import type { ReconcileReport } from '../../domain/workflow-contract.js';
import { connectTemporal } from '../../temporal/connection.js';
import type { ProductAddress } from './product.js';

/** Runs the product's reconciler now, and resolves with its report when it has ended. */
export async function reconcile({ temporalAddress }: ProductAddress): Promise<ReconcileReport> {
  const temporal = await connectTemporal(temporalAddress, 'default');
  try {
    const workflowId = `sweep-in-a-test-${randomUUID()}`;
    return await temporal.workflow.execute<() => Promise<ReconcileReport>>('sweep', {
      taskQueue: 'content',
      workflowId,
    });
  } finally {
    await temporal.connection.close();
  }
}
