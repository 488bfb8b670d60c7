import type { Collection } from 'mongodb';
import type { OwnedDatabase } from '../../domain/content/databases.js';
import { type EmbeddingModel, type ModelUse, modelOf } from '../../domain/content/embedding-models.js';
import {
  type IndexedDatabase,
  type IndexPlace,
  type NextIndex,
  TEXT_ANALYSIS,
} from '../../domain/content/index-generations.js';
import { ServiceError } from '../../domain/errors.js';
import type { DatabaseClock } from '../clock.js';
import type { DatabaseRecord } from './databases.js';

export type DatabaseIndexes = ReturnType<typeof createDatabaseIndexes>;

const PROJECTION = { org: 1, metadata_schema: 1, index: 1, next_index: 1 } as const;

const idOf = ({ _id, org }: OwnedDatabase) => ({ _id, org });

/** Adds an index of the record, `index` or `next_index`, to those that are not used any more. */
const withRetired = (index: 'index' | 'next_index', retired_at: Date) => ({
  $concatArrays: [
    { $ifNull: ['$retired_indexes', []] },
    [{ generation: `$${index}.generation`, engine: `$${index}.engine`, retired_at }],
  ],
});

/** The search indexes of databases: which one queries read, which one a rebuild writes, and the model of each. */
export function createDatabaseIndexes({
  databases,
  now,
}: {
  databases: Collection<DatabaseRecord>;
  now: DatabaseClock;
}) {
  const read = ({ _id, org }: OwnedDatabase) =>
    databases.findOne<IndexedDatabase>({ _id, org }, { projection: PROJECTION });

  return {
    /** @returns null when the database does not exist */
    getById: read,

    /**
     * The first vectors of a database decide its model.
     * @param model the configured model; null: none
     * @returns the database, with the model of its vectors; null when it does not exist
     */
    async getForEmbedding(owned: OwnedDatabase, model: EmbeddingModel | null): Promise<IndexedDatabase | null> {
      const database = await read(owned);
      if (!database || database.index.embeddings || database.next_index || !model) return database;
      await databases.updateOne(
        { ...idOf(owned), 'index.embeddings': null, next_index: { $exists: false } },
        { $set: { 'index.embeddings': modelOf(model) } },
      );
      return read(owned);
    },

    /** @returns a number that no index of this database has had; null when it has a next index already, or is being deleted */
    async reserveGeneration(owned: OwnedDatabase): Promise<number | null> {
      const reserved = await databases.findOneAndUpdate(
        { ...idOf(owned), status: { $ne: 'deleting' }, next_index: { $exists: false } },
        { $inc: { index_generations: 1 } },
        { returnDocument: 'after', projection: { index_generations: 1 } },
      );
      return reserved?.index_generations ?? null;
    },

    /** Starts the writing to the next index: from then on, writers write to both. */
    async begin(owned: OwnedDatabase, next: NextIndex): Promise<void> {
      await databases.updateOne(
        { ...idOf(owned), status: { $ne: 'deleting' }, next_index: { $exists: false } },
        { $set: { next_index: next } },
      );
    },

    /** Makes the next index the one that queries read. Does nothing when it is, or when the rebuild was cancelled. */
    async switchTo(owned: OwnedDatabase, generation: number): Promise<void> {
      await databases.updateOne({ ...idOf(owned), 'next_index.generation': generation }, [
        {
          $set: {
            index: {
              generation: '$next_index.generation',
              embeddings: '$next_index.embeddings',
              analysis: '$next_index.analysis',
              engine: { $ifNull: ['$next_index.engine', 'lancedb'] },
            },
            retired_indexes: withRetired('index', now()),
          },
        },
        { $unset: 'next_index' },
      ]);
    },

    /** Ends the writing to the next indexes of a rebuild that was cancelled. */
    async abandon(rebuild: string): Promise<void> {
      await databases.updateMany({ 'next_index.rebuild': rebuild }, [
        { $set: { retired_indexes: withRetired('next_index', now()) } },
        { $unset: 'next_index' },
      ]);
    },

    /** @returns the indexes that were used last before `before` */
    async listRetired(before: Date): Promise<(IndexPlace & { database: OwnedDatabase })[]> {
      const found = await databases
        .find({ 'retired_indexes.retired_at': { $lte: before } }, { projection: { org: 1, retired_indexes: 1 } })
        .toArray();
      return found.flatMap(({ _id, org, retired_indexes = [] }) =>
        retired_indexes
          .filter(({ retired_at }) => retired_at <= before)
          .map(({ generation, engine }) => ({ database: { _id, org }, generation, engine })),
      );
    },

    /** Records that a retired index does not exist any more. */
    async markRemoved(owned: OwnedDatabase, generation: number): Promise<void> {
      await databases.updateOne(idOf(owned), { $pull: { retired_indexes: { generation } } });
    },

    /** Stores that the index was cleared, so that all its texts get the analysis of this process. */
    async markCleared(owned: OwnedDatabase, generation: number): Promise<void> {
      await databases.updateOne(
        { ...idOf(owned), 'index.generation': generation },
        { $set: { 'index.analysis': TEXT_ANALYSIS } },
      );
    },

    /** @returns a database of any organisation, for rebuilds */
    getOfAny(databaseId: string): Promise<DatabaseRecord | null> {
      return databases.findOne({ _id: databaseId });
    },

    /** For commands that name a database. @throws ServiceError DATABASE_NOT_FOUND */
    async requireOfAny(databaseId: string): Promise<void> {
      const database = await this.getOfAny(databaseId);
      if (database && database.status !== 'deleting') return;
      throw new ServiceError('DATABASE_NOT_FOUND', `There is no database with the internal id "${databaseId}".`);
    },

    /** @returns the databases of all organisations */
    listAll(): Promise<DatabaseRecord[]> {
      return databases.find().toArray();
    },

    /** @returns the newest databases that can be queried, of all organisations */
    listNewestReady(limit: number): Promise<DatabaseRecord[]> {
      return databases.find({ status: 'ready' }).sort({ _id: -1 }).limit(limit).toArray();
    },

    /** @returns how many databases have texts with another analysis than this process */
    countOutdatedTexts(): Promise<number> {
      return databases.countDocuments({ status: 'ready', 'index.analysis': { $ne: TEXT_ANALYSIS } });
    },

    /** @returns the models of all databases that can be queried */
    async listModels(): Promise<ModelUse[]> {
      return databases
        .aggregate<ModelUse>([
          { $match: { status: 'ready' } },
          { $group: { _id: '$index.embeddings', databases: { $sum: 1 } } },
          { $project: { _id: 0, model: '$_id', databases: 1 } },
          { $sort: { databases: -1 } },
        ])
        .toArray();
    },
  };
}
