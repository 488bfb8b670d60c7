import { SEARCH_ENGINES, tableOf } from '../../domain/content/index-generations.js';
import type { SearchIndex } from '../../domain/content/search.js';
import type { FileStore } from '../../domain/file-store.js';
import type { DatabaseContents } from '../../storage/content/database-contents.js';
import type { Databases } from '../../storage/content/databases.js';
import { withHeartbeat } from '../heartbeat.js';

export interface DatabaseDependencies {
  databases: Pick<Databases, 'getById' | 'isOpen' | 'markGraphReady' | 'markReady' | 'remove'>;
  contents: Omit<DatabaseContents, 'collections' | 'stats'>;
  files: Pick<FileStore, 'remove'>;
  index: Pick<SearchIndex, 'create' | 'drop'>;
  /** Stops the connectors of a database, which would add items to it. */
  removeConnectors(databaseId: string): Promise<void>;
}

export type DatabaseActivities = ReturnType<typeof createDatabaseActivities>;

/** Items whose files are deleted at a time. */
const PAGE = 500;

/** Create and delete the parts of a database. Each can be repeated. */
export function createDatabaseActivities(deps: DatabaseDependencies) {
  const { databases, contents, files, index, removeConnectors } = deps;

  return {
    async createSearchTable(databaseId: string): Promise<void> {
      const database = await databases.getById(databaseId);
      if (!database) return;
      const table = tableOf(databaseId, database.index);
      await index.create(table);
      // The database may have been deleted at the same time, and its table dropped before this created it.
      if (!(await databases.isOpen(databaseId))) await index.drop(table);
    },

    /** A graph needs no collection of its own, so only the status changes. */
    async createGraph(databaseId: string): Promise<void> {
      await databases.markGraphReady(databaseId);
    },

    async markDatabaseReady(databaseId: string): Promise<void> {
      await databases.markReady(databaseId);
    },

    removeDatabaseItems: (databaseId: string): Promise<void> =>
      withHeartbeat(async () => {
        await removeConnectors(databaseId);
        await removeItems(databaseId);
      }),

    removeDatabaseChunks: (databaseId: string): Promise<void> => withHeartbeat(() => contents.removeChunks(databaseId)),

    removeDatabaseGraph: (databaseId: string): Promise<void> => withHeartbeat(() => contents.removeGraph(databaseId)),

    dropSearchTable: (databaseId: string): Promise<void> =>
      withHeartbeat(async () => {
        const database = await databases.getById(databaseId);
        for (let generation = 1; generation <= (database?.index_generations ?? 1); generation += 1) {
          for (const engine of SEARCH_ENGINES) await index.drop(tableOf(databaseId, { generation, engine }));
        }
      }),

    async removeDatabaseRecord(databaseId: string): Promise<void> {
      await databases.remove(databaseId);
    },
  };

  /** Files are deleted first, because their ids are stored with the items. */
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
