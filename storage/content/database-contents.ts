import type { OwnedDatabase } from '../../domain/content/databases.js';
import type { Access } from '../collections.js';
import { COLLECTION_INDEX } from '../indexes.js';
import { filesOf, type ItemRecord } from './items.js';

export type DatabaseContents = ReturnType<typeof createDatabaseContents>;

interface Group {
  _id: { status: string; type: string };
  items: number;
  bytes: number;
}

/** Counts and removes the contents of whole databases. */
export function createDatabaseContents(
  collections: Access<'items' | 'removedItems' | 'feedback' | 'feedbackTallies' | 'chunks' | 'entities' | 'relations'>,
) {
  const { items, removedItems, chunks, entities, relations, feedback, feedbackTallies } = collections;
  return {
    /** @returns the collections by name, with the number of their items. Reads an index alone. */
    async collections(database: OwnedDatabase): Promise<{ collection: string; items: number }[]> {
      const found = await items
        .forOrg(database.org)
        .aggregate<{ _id: string; items: number }>(
          [
            { $match: { database_id: database._id } },
            { $project: { _id: 0, collection: 1 } },
            { $group: { _id: '$collection', items: { $sum: 1 } } },
            { $sort: { _id: 1 } },
          ],
          { hint: COLLECTION_INDEX },
        )
        .toArray();
      return found.map(({ _id, items: count }) => ({ collection: _id, items: count }));
    },

    /** @returns the number of items, also by status and type, and of chunks, and the bytes of the ingested files and texts. Items are read from an index alone. */
    async stats(database: OwnedDatabase) {
      const [groups, chunkCount] = await Promise.all([
        items
          .forOrg(database.org)
          .aggregate<Group>(
            [
              { $match: { database_id: database._id } },
              { $project: { _id: 0, indexing_status: 1, type: 1, bytes: 1 } },
              {
                $group: {
                  _id: { status: '$indexing_status', type: '$type' },
                  items: { $sum: 1 },
                  bytes: { $sum: '$bytes' },
                },
              },
            ],
            { hint: COLLECTION_INDEX },
          )
          .toArray(),
        chunks.countDocuments({ database_id: database._id }),
      ]);
      const by = (name: 'status' | 'type') => {
        const sums: Record<string, number> = {};
        for (const { _id, items: count } of groups) sums[_id[name]] = (sums[_id[name]] ?? 0) + count;
        return sums;
      };
      return {
        items: groups.reduce((sum, group) => sum + group.items, 0),
        by_status: by('status'),
        by_type: by('type'),
        chunks: chunkCount,
        bytes: groups.reduce((sum, group) => sum + group.bytes, 0),
      };
    },

    /** @returns keys of some items, and the files that these own */
    async listItemFiles(database: OwnedDatabase, limit: number): Promise<{ keys: string[]; file_ids: string[] }> {
      const page = await items
        .forOrg(database.org)
        .find({ database_id: database._id })
        .limit(limit)
        .project<ItemRecord>({ 'source.file_id': 1, 'served.source.file_id': 1 })
        .toArray();
      return {
        keys: page.map(({ _id }) => _id),
        file_ids: page.flatMap(({ source, served }) => filesOf(source, served?.source)),
      };
    },

    async removeItems({ org }: OwnedDatabase, keys: readonly string[]): Promise<void> {
      await items.forOrg(org).deleteMany({ _id: { $in: [...keys] } });
    },

    /** @returns files of deleted items that are not cleared yet */
    async listRemovedFiles(database: OwnedDatabase): Promise<string[]> {
      const removed = removedItems.forOrg(database.org).find({ database_id: database._id });
      return (await removed.toArray()).flatMap(({ files }) => files);
    },

    /** Removes version counters of deleted items, feedback and tallies. */
    async removeItemHistory({ _id: database_id, org }: OwnedDatabase): Promise<void> {
      await removedItems.forOrg(org).deleteMany({ database_id });
      await Promise.all([
        feedback.forOrg(org).deleteMany({ database_id }),
        feedbackTallies.forOrg(org).deleteMany({ database_id }),
      ]);
    },

    async removeChunks(databaseId: string): Promise<void> {
      await chunks.deleteMany({ database_id: databaseId });
    },

    async removeGraph(databaseId: string): Promise<void> {
      await Promise.all([
        entities.deleteMany({ database_id: databaseId }),
        relations.deleteMany({ database_id: databaseId }),
      ]);
    },
  };
}
