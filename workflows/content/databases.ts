import { proxyActivities } from '@temporalio/workflow';
import type { DatabaseActivities } from '../../activities/content/databases.js';
import type { DatabaseRef } from '../../domain/content/workflow-contract.js';

const provisioning = { startToCloseTimeout: '1 minute', retry: { maximumInterval: '30 seconds' } } as const;

const { createSearchTable } = proxyActivities<DatabaseActivities>({
  ...provisioning,
  summary: 'Create the search table',
});
const { createGraph } = proxyActivities<DatabaseActivities>({ ...provisioning, summary: 'Create the graph' });
const { markDatabaseReady } = proxyActivities<DatabaseActivities>({ ...provisioning, summary: 'Open for ingestion' });

const deletion = {
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '10 seconds',
  retry: { maximumInterval: '1 minute' },
} as const;

const { removeDatabaseItems } = proxyActivities<DatabaseActivities>({ ...deletion, summary: 'Delete items and files' });
const { removeDatabaseChunks } = proxyActivities<DatabaseActivities>({ ...deletion, summary: 'Delete chunks' });
const { removeDatabaseGraph } = proxyActivities<DatabaseActivities>({ ...deletion, summary: 'Delete the graph' });
const { dropSearchTable } = proxyActivities<DatabaseActivities>({ ...deletion, summary: 'Drop the search table' });
const { removeDatabaseRecord } = proxyActivities<DatabaseActivities>({ ...deletion, summary: 'Release the name' });

/** Provisions a new database: provisioning -> ready. */
export async function provisionDatabase({ database_id, org }: DatabaseRef): Promise<void> {
  await createSearchTable(database_id, org);
  await createGraph(database_id, org);
  await markDatabaseReady(database_id, org);
}

/** Deletes a database. Items are deleted first, so that their running workflows stop. */
export async function deleteDatabase({ database_id, org }: DatabaseRef): Promise<void> {
  await removeDatabaseItems(database_id, org);
  await removeDatabaseChunks(database_id);
  await removeDatabaseGraph(database_id);
  await dropSearchTable(database_id, org);
  await removeDatabaseRecord(database_id, org);
}
