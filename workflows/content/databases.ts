import { proxyActivities } from '@temporalio/workflow';
import type { DatabaseActivities } from '../../activities/content/databases.js';
import type { DatabaseRef } from '../../domain/content/workflow-contract.js';

const provisioning = { startToCloseTimeout: '1 minute', retry: { maximumInterval: '30 seconds' } } as const;

const { createSearchTable } = proxyActivities<DatabaseActivities>({
  ...provisioning,
  summary: 'Create its search table',
});
const { createGraph } = proxyActivities<DatabaseActivities>({ ...provisioning, summary: 'Create its graph' });
const { markDatabaseReady } = proxyActivities<DatabaseActivities>({ ...provisioning, summary: 'Ready for ingestion' });

const deletion = {
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '20 seconds',
  retry: { maximumInterval: '1 minute' },
} as const;

const { removeDatabaseItems } = proxyActivities<DatabaseActivities>({ ...deletion, summary: 'Remove items and files' });
const { removeDatabaseChunks } = proxyActivities<DatabaseActivities>({ ...deletion, summary: 'Remove chunks' });
const { removeDatabaseGraph } = proxyActivities<DatabaseActivities>({ ...deletion, summary: 'Remove the graph' });
const { dropSearchTable } = proxyActivities<DatabaseActivities>({ ...deletion, summary: 'Drop its search table' });
const { removeDatabaseRecord } = proxyActivities<DatabaseActivities>({ ...deletion, summary: 'Free its name' });

/** Provisions a new database step by step: provisioning -> ready. */
export async function provisionDatabase({ database_id }: DatabaseRef): Promise<void> {
  await createSearchTable(database_id);
  await createGraph(database_id);
  await markDatabaseReady(database_id);
}

/** Deletes a database. Items go first: their running workflows then see that the items are gone, and end. */
export async function deleteDatabase({ database_id }: DatabaseRef): Promise<void> {
  await removeDatabaseItems(database_id);
  await removeDatabaseChunks(database_id);
  await removeDatabaseGraph(database_id);
  await dropSearchTable(database_id);
  await removeDatabaseRecord(database_id);
}
