import { proxyActivities } from '@temporalio/workflow';

const { doNothing } = proxyActivities<{ doNothing(): Promise<void> }>({ startToCloseTimeout: '1 minute' });

/** The smallest workflow with an activity. */
export async function bare(): Promise<void> {
  await doNothing();
}
