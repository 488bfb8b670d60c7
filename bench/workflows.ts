import { proxyActivities } from '@temporalio/workflow';

const { nothing } = proxyActivities<{ nothing(): Promise<void> }>({ startToCloseTimeout: '1 minute' });

/** The least that a workflow with an activity can be. */
export async function bare(): Promise<void> {
  await nothing();
}
