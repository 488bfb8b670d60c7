import type { SearchIndex } from '../../domain/content/search.js';
import type { Connectors } from '../../storage/connectors/connectors.js';
import type { DatabaseContents } from '../../storage/content/database-contents.js';
import type { Databases } from '../../storage/content/databases.js';
import { withHeartbeat } from '../heartbeat.js';

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
    async createSearchTable(databaseId: string): Promise<void> {
      await index.create(databaseId);
      // Deleted meanwhile: its deletion may have been here before.
      if (!(await databases.isOpen(databaseId))) await index.drop(databaseId);
    },

    /** The graph needs no structure of its own in MongoDB beyond the indexes made at connection. */
    async createGraph(databaseId: string): Promise<void> {
      await databases.markGraphReady(databaseId);
    },

    async markDatabaseReady(databaseId: string): Promise<void> {
      await databases.markReady(databaseId);
    },

    /** Its connectors first, which would fill it again. */
    removeDatabaseItems: (databaseId: string): Promise<void> =>
      withHeartbeat(async () => {
        await connectors.markDatabaseDeleted(databaseId);
        await contents.removeItems(databaseId);
      }),

    removeDatabaseChunks: (databaseId: string): Promise<void> => withHeartbeat(() => contents.removeChunks(databaseId)),

    removeDatabaseGraph: (databaseId: string): Promise<void> => withHeartbeat(() => contents.removeGraph(databaseId)),

    dropSearchTable: (databaseId: string): Promise<void> => withHeartbeat(() => index.drop(databaseId)),

    async removeDatabaseRecord(databaseId: string): Promise<void> {
      await databases.remove(databaseId);
    },
  };
}
