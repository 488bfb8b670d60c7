import { log, proxyActivities } from '@temporalio/workflow';
import type { ItemGroupActivities } from '../../activities/content/item-groups.js';
import { FILE_QUEUE, GROUP_QUEUE, type GroupRef, type GroupReport } from '../../domain/content/workflow-contract.js';
import { activityHasFailed } from '../failures.js';

const options = {
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '10 seconds',
  // Attempts are unlimited: storage errors (E6001) are transient, and the activity marks lasting errors as not retryable.
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
} as const;

function groupActivities({ files }: GroupRef) {
  const activities = (summary: string) =>
    proxyActivities<ItemGroupActivities>({ ...options, taskQueue: files ? FILE_QUEUE : GROUP_QUEUE, summary });
  const { indexTogether } = activities('Index the items together');
  const { separateItems } = activities('Continue each item with a workflow of its own');
  return { indexTogether, separateItems };
}

/**
 * Small items of one collection, through the statuses of `indexItem` together. An item that fails leaves the group and is
 * continued by `indexItem`. When the group as a whole fails, all of its items leave.
 */
export async function indexItems(group: GroupRef): Promise<GroupReport> {
  const { indexTogether, separateItems } = groupActivities(group);
  try {
    return await indexTogether(group);
  } catch (error) {
    if (!activityHasFailed(error)) throw error;
    log.info('The items continue one by one');
    return await separateItems(group);
  }
}
