import type { Collection } from 'mongodb';
import type { FileStore } from '../../domain/file-store.js';
import { COLLECTION_INDEX } from '../indexes.js';
import type { ChunkRecord } from './chunks.js';
import type { FeedbackRecord, FeedbackTallyRecord } from './feedback.js';
import type { EntityRecord, RelationRecord } from './graph.js';
import type { ItemRecord } from './items.js';
import type { RemovedItemRecord } from './removed-items.js';

type DatabaseContentsCollections = {
  items: Collection<ItemRecord>;
  removedItems: Collection<RemovedItemRecord>;
  chunks: Collection<ChunkRecord>;
  entities: Collection<EntityRecord>;
  relations: Collection<RelationRecord>;
  feedback: Collection<FeedbackRecord>;
  feedbackTallies: Collection<FeedbackTallyRecord>;
};

export type DatabaseContents = ReturnType<typeof createDatabaseContents>;

/** Items whose files are removed in one go. */
const PAGE = 500;

export interface DatabaseStats {
  items: number;
  by_status: Record<string, number>;
  by_type: Record<string, number>;
  chunks: number;
  /** Of the files and texts that were ingested. */
  bytes: number;
}

interface Group {
  _id: { status: string; type: string };
  items: number;
  bytes: number;
}

/** What a database holds, as a whole: counted, and taken away. `databaseId` is the database's internal id. */
export function createDatabaseContents(collections: DatabaseContentsCollections, files: FileStore) {
  const { items, removedItems, chunks, entities, relations, feedback, feedbackTallies } = collections;
  return {
    /** Collections with the number of their items, by name. Read from an index alone. */
    async collections(databaseId: string): Promise<{ collection: string; items: number }[]> {
      const found = await items
        .aggregate<{ _id: string; items: number }>(
          [
            { $match: { database_id: databaseId } },
            { $project: { _id: 0, collection: 1 } },
            { $group: { _id: '$collection', items: { $sum: 1 } } },
            { $sort: { _id: 1 } },
          ],
          { hint: COLLECTION_INDEX },
        )
        .toArray();
      return found.map(({ _id, items: count }) => ({ collection: _id, items: count }));
    },

    async stats(databaseId: string): Promise<DatabaseStats> {
      const [groups, chunkCount] = await Promise.all([
        items
          .aggregate<Group>(
            [
              { $match: { database_id: databaseId } },
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
        chunks.countDocuments({ database_id: databaseId }),
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

    /** And what was said about them. Files first: an item that is gone could not say any more which file was its own. */
    async removeItems(databaseId: string): Promise<void> {
      for (;;) {
        const page = await items
          .find({ database_id: databaseId })
          .limit(PAGE)
          .project<{ _id: string; source: { file_id?: string } }>({ 'source.file_id': 1 })
          .toArray();
        if (page.length === 0) break;
        for (const { source } of page) if (source.file_id) await files.remove(source.file_id);
        await items.deleteMany({ _id: { $in: page.map(({ _id }) => _id) } });
      }
      for await (const { files: left } of removedItems.find({ database_id: databaseId })) {
        for (const file of left) await files.remove(file);
      }
      await removedItems.deleteMany({ database_id: databaseId });
      await Promise.all([
        feedback.deleteMany({ database_id: databaseId }),
        feedbackTallies.deleteMany({ database_id: databaseId }),
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
