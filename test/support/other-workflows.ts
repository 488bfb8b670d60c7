import { sleep } from '@temporalio/workflow';

/** Has the name of a workflow of the product, with other steps: what a release that breaks open executions looks like. */
export async function deliverWebhook(): Promise<void> {
  await sleep('1 day');
}
