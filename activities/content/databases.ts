import type { OwnedDatabase } from '../../domain/content/databases.js';
import { SEARCH_ENGINES, tableOf } from '../../domain/content/index-generations.js';
import type { SearchIndex } from '../../domain/content/search.js';
import type { ItemRef } from '../../domain/content/workflow-contract.js';
import type { FileStore } from '../../domain/file-store.js';
import type { DatabaseContents } from '../../storage/content/database-contents.js';
import type { Databases } from '../../storage/content/databases.js';
import type { RemovedItems } from '../../storage/content/removed-items.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';
import { withHeartbeat } from '../heartbeat.js';

export interface InterruptDependencies {
  removedItems: Pick<RemovedItems, 'interrupt'>;
  starters: Pick<DeliveryStarters, 'startDeliveries'>;
  files: Pick<FileStore, 'remove'>;
}

export interface DatabaseDependencies extends InterruptDependencies {
  databases: Pick<Databases, 'getById' | 'isOpen' | 'markGraphReady' | 'markReady' | 'remove'>;
  contents: Omit<DatabaseContents, 'collections' | 'stats'>;
  index: Pick<SearchIndex, 'create' | 'drop'>;
  /** Stops the connectors of a database, which would add items to it. */
  removeConnectors(database: OwnedDatabase): Promise<void>;
}

export type DatabaseActivities = ReturnType<typeof createDatabaseActivities>;

/** Items whose files are deleted at a time. */
const PAGE = 500;

export function databaseOf({ database_id, org }: Pick<ItemRef, 'database_id' | 'org'>): OwnedDatabase {
  return { _id: database_id, org };
}

/**
 * Ends items in progress of a database that is being deleted, and announces that.
 * @param keys of the items; without them, a page of all
 * @returns how many items have ended
 */
export async function interruptItems(
  { removedItems, starters, files }: InterruptDependencies,
  database: OwnedDatabase,
  keys?: readonly string[],
): Promise<number> {
  const ended = await removedItems.interrupt(database, { ...(keys ? { keys } : {}), limit: PAGE });
  await starters.startDeliveries(ended.deliveries);
  for (const fileId of ended.file_ids) await files.remove(fileId);
  return ended.interrupted;
}

/** Create and delete the parts of a database. Each can be repeated. */
export function createDatabaseActivities(deps: DatabaseDependencies) {
  const { databases, contents, files, index, removeConnectors } = deps;

  return {
    async createSearchTable(_id: string, org: string): Promise<void> {
      const database = await databases.getById({ _id, org });
      if (!database) return;
      const table = tableOf(_id, database.index);
      await index.create(table);
      // The database may have been deleted at the same time, and its table dropped before this created it.
      if (!(await databases.isOpen(database))) await index.drop(table);
    },

    /** A graph needs no collection of its own, so only the status changes. */
    async createGraph(_id: string, org: string): Promise<void> {
      await databases.markGraphReady({ _id, org });
    },

    async markDatabaseReady(_id: string, org: string): Promise<void> {
      await databases.markReady({ _id, org });
    },

    removeDatabaseItems: (_id: string, org: string): Promise<void> =>
      withHeartbeat(async () => {
        const database = { _id, org };
        await removeConnectors(database);
        await removeItems(database);
      }),

    removeDatabaseChunks: (databaseId: string): Promise<void> => withHeartbeat(() => contents.removeChunks(databaseId)),

    removeDatabaseGraph: (databaseId: string): Promise<void> => withHeartbeat(() => contents.removeGraph(databaseId)),

    dropSearchTable: (_id: string, org: string): Promise<void> =>
      withHeartbeat(async () => {
        const database = await databases.getById({ _id, org });
        for (let generation = 1; generation <= (database?.index_generations ?? 1); generation += 1) {
          for (const engine of SEARCH_ENGINES) await index.drop(tableOf(_id, { generation, engine }));
        }
      }),

    async removeDatabaseRecord(_id: string, org: string): Promise<void> {
      await databases.remove({ _id, org });
    },
  };

  /** Items in progress end first. Files are deleted before the rest, because their ids are stored with the items. */
  async function removeItems(database: OwnedDatabase): Promise<void> {
    while ((await interruptItems(deps, database)) > 0);
    for (;;) {
      const { keys, file_ids } = await contents.listItemFiles(database, PAGE);
      if (keys.length === 0) break;
      for (const fileId of file_ids) await files.remove(fileId);
      await contents.removeItems(database, keys);
    }
    for (const fileId of await contents.listRemovedFiles(database)) await files.remove(fileId);
    await contents.removeItemHistory(database);
  }
}
