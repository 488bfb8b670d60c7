import { proxyActivities } from '@temporalio/workflow';
import type { DatabaseActivities } from '../activities/databases.js';
import type { DatabaseRef } from '../domain/work.js';

const step = { startToCloseTimeout: '1 minute', retry: { maximumInterval: '30 seconds' } } as const;

const { createSearchTable } = proxyActivities<DatabaseActivities>({ ...step, summary: 'Make its table to search' });
const { createGraph } = proxyActivities<DatabaseActivities>({ ...step, summary: 'Make its graph' });
const { markDatabaseReady } = proxyActivities<DatabaseActivities>({ ...step, summary: 'Ready for ingestion' });

/** A new database: its parts are made one by one, then it is ready for ingestion. */
export async function provisionDatabase(database: DatabaseRef): Promise<void> {
  await createSearchTable(database.tenant);
  await createGraph(database.tenant);
  await markDatabaseReady(database.tenant);
}
