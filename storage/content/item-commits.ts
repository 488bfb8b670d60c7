import type { MongoClient } from 'mongodb';
import { createSharedCalls } from '../../domain/shared-calls.js';
import { inTransaction } from '../transactions.js';
import type { ItemQueue } from './item-queue.js';
import type { ItemRecord } from './items.js';

export interface ItemCommits {
  /**
   * Stores a new item in a transaction.
   * @returns the stored record
   * @throws ServiceError SOURCE_ALREADY_EXISTS
   */
  add(record: ItemRecord): Promise<ItemRecord>;
}

/** The transaction of a group was given up before its commit: each of its items gets its own. */
class GroupGivenUp extends Error {}

/**
 * Commits new items of a collection together that arrive, each in a request of its own, while others are being committed: a
 * commit costs more than what it commits. An item that cannot be stored harms only itself.
 */
export function createItemCommits({
  mongoClient,
  itemQueue,
}: {
  mongoClient: MongoClient;
  itemQueue: Pick<ItemQueue, 'add'>;
}): ItemCommits {
  const addAlone = async (record: ItemRecord): Promise<ItemRecord> => {
    const [stored] = await inTransaction(mongoClient, (tx) => itemQueue.add([record], tx));
    return stored!;
  };

  const addTogether = (records: readonly ItemRecord[]): Promise<ItemRecord[]> =>
    inTransaction(mongoClient, (tx) =>
      itemQueue.add(records, tx).catch((error) => {
        // Without MongoDB's label, so that the driver does not repeat the whole group.
        throw new GroupGivenUp('one of the items could not be stored', { cause: error });
      }),
    );

  return {
    add: createSharedCalls<ItemRecord, ItemRecord>({
      keyOf: ({ database_id, collection }) => JSON.stringify([database_id, collection]),
      async call(records) {
        if (records.length === 1) return [await addAlone(records[0]!)];
        try {
          return await addTogether(records);
        } catch (error) {
          // After an error of the commit, the items may have been stored.
          if (!(error instanceof GroupGivenUp)) throw error;
          return records.map(addAlone);
        }
      },
    }),
  };
}
