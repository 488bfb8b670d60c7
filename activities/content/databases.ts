import type { SearchIndex } from '../../domain/content/search.js';
import type { FileStore } from '../../domain/file-store.js';
import type { DatabaseContents } from '../../storage/content/database-contents.js';
import type { Databases } from '../../storage/content/databases.js';
import { withHeartbeat } from '../heartbeat.js';

/** Items whose files are removed at a time. */
const PAGE = 500;

export type DatabaseActivities = ReturnType<typeof createDatabaseActivities>;

/** The parts of a database, made and taken away one by one; each may be done twice. */
export function createDatabaseActivities({
  databases,
  contents,
  files,
  index,
  removeConnectors,
}: {
  databases: Databases;
  /** Ends the connectors of a database, which would fill it again. */
  removeConnectors(databaseId: string): Promise<void>;
  contents: DatabaseContents;
  files: FileStore;
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
        await removeConnectors(databaseId);
        await removeItems(databaseId);
      }),

    removeDatabaseChunks: (databaseId: string): Promise<void> => withHeartbeat(() => contents.removeChunks(databaseId)),

    removeDatabaseGraph: (databaseId: string): Promise<void> => withHeartbeat(() => contents.removeGraph(databaseId)),

    dropSearchTable: (databaseId: string): Promise<void> => withHeartbeat(() => index.drop(databaseId)),

    async removeDatabaseRecord(databaseId: string): Promise<void> {
      await databases.remove(databaseId);
    },
  };
  /** Files first: a removed item could no longer name its file. */
  async function removeItems(databaseId: string): Promise<void> {
    for (;;) {
      const { keys, file_ids } = await contents.listItemFiles(databaseId, PAGE);
      if (keys.length === 0) break;
      for (const fileId of file_ids) await files.remove(fileId);
      await contents.removeItems(keys);
    }
    for (const fileId of await contents.listRemovedFiles(databaseId)) await files.remove(fileId);
    await contents.removeItemHistory(databaseId);
  }
}
