import type { SearchIndex } from '../domain/search.js';
import type { Connectors } from '../storage/connectors.js';
import type { DatabaseContents } from '../storage/database-contents.js';
import type { Databases } from '../storage/databases.js';
import { withHeartbeat } from './heartbeat.js';

export type DatabaseActivities = ReturnType<typeof createDatabaseActivities>;

/** The parts of a database, made and taken away one by one; each may be done twice. */
export function createDatabaseActivities({
  databases,
  connectors,
  contents,
  index,
}: {
  databases: Databases;
  connectors: Connectors;
  contents: DatabaseContents;
  index: SearchIndex;
}) {
  return {
    async createSearchTable(tenant: string): Promise<void> {
      await index.create(tenant);
      // Deleted meanwhile: its deletion may have been here before.
      if (!(await databases.isOpen(tenant))) await index.drop(tenant);
    },

    /** The graph needs no structure of its own in MongoDB beyond the indexes made at connection. */
    async createGraph(tenant: string): Promise<void> {
      await databases.markGraphReady(tenant);
    },

    async markDatabaseReady(tenant: string): Promise<void> {
      await databases.markReady(tenant);
    },

    /** Its connectors first, which would fill it again. */
    removeDatabaseItems: (tenant: string): Promise<void> =>
      withHeartbeat(async () => {
        await connectors.markDeletedOf(tenant);
        await contents.removeItems(tenant);
      }),

    removeDatabaseChunks: (tenant: string): Promise<void> => withHeartbeat(() => contents.removeChunks(tenant)),

    removeDatabaseGraph: (tenant: string): Promise<void> => withHeartbeat(() => contents.removeGraph(tenant)),

    dropSearchTable: (tenant: string): Promise<void> => withHeartbeat(() => index.drop(tenant)),

    async removeDatabaseRecord(tenant: string): Promise<void> {
      await databases.remove(tenant);
    },
  };
}
