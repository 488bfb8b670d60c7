import type { SearchIndex } from '../domain/search.js';
import type { Databases } from '../storage/databases.js';

export type DatabaseActivities = ReturnType<typeof createDatabaseActivities>;

/** The parts of a database, made one by one; each may be made twice. */
export function createDatabaseActivities({ databases, index }: { databases: Databases; index: SearchIndex }) {
  return {
    async createSearchTable(tenant: string): Promise<void> {
      await index.create(tenant);
    },

    /** The graph needs no structure of its own in MongoDB beyond the indexes made at connection. */
    async createGraph(tenant: string): Promise<void> {
      await databases.markGraphReady(tenant);
    },

    async markDatabaseReady(tenant: string): Promise<void> {
      await databases.markReady(tenant);
    },
  };
}
