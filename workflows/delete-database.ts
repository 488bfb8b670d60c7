import { proxyActivities } from '@temporalio/workflow';
import type { DatabaseActivities } from '../activities/databases.js';
import type { DatabaseRef } from '../domain/work.js';

const step = {
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '20 seconds',
  retry: { maximumInterval: '1 minute' },
} as const;

const { removeDatabaseItems } = proxyActivities<DatabaseActivities>({ ...step, summary: 'Remove items and files' });
const { removeDatabaseChunks } = proxyActivities<DatabaseActivities>({ ...step, summary: 'Remove chunks' });
const { removeDatabaseGraph } = proxyActivities<DatabaseActivities>({ ...step, summary: 'Remove the graph' });
const { dropSearchTable } = proxyActivities<DatabaseActivities>({ ...step, summary: 'Drop its table to search' });
const { removeDatabaseRecord } = proxyActivities<DatabaseActivities>({ ...step, summary: 'Free its name' });

/** A database that is being deleted. Items go first: work on them that is under way then sees that it is over. */
export async function deleteDatabase({ tenant }: DatabaseRef): Promise<void> {
  await removeDatabaseItems(tenant);
  await removeDatabaseChunks(tenant);
  await removeDatabaseGraph(tenant);
  await dropSearchTable(tenant);
  await removeDatabaseRecord(tenant);
}
