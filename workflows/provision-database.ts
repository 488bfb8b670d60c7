import { proxyActivities } from '@temporalio/workflow';
import type { DatabaseActivities } from '../activities/databases.js';
import type { DatabaseRef } from '../domain/work.js';

const { createSearchTable, createGraph, markDatabaseReady } = proxyActivities<DatabaseActivities>({
  startToCloseTimeout: '1 minute',
  retry: { maximumInterval: '30 seconds' },
});

/** A new database: its parts are made one by one, then it is ready for ingestion. */
export async function provisionDatabase(database: DatabaseRef): Promise<void> {
  await createSearchTable(database.tenant);
  await createGraph(database.tenant);
  await markDatabaseReady(database.tenant);
}
