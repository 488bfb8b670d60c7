import type { MongoClient } from 'mongodb';
import { createSharedCommits } from '../shared-commits.js';
import type { ItemQueue } from './item-queue.js';
import type { ItemRecord } from './items.js';

export interface ItemCommits {
  /**
   * Stores a new item in a transaction, which items of the same collection share that arrive in requests of their own.
   * @returns the stored record
   * @throws ServiceError SOURCE_ALREADY_EXISTS
   */
  add(record: ItemRecord): Promise<ItemRecord>;
}

export function createItemCommits({
  mongoClient,
  itemQueue,
}: {
  mongoClient: MongoClient;
  itemQueue: Pick<ItemQueue, 'add'>;
}): ItemCommits {
  const keyOf = ({ database_id, collection }: ItemRecord) => JSON.stringify([database_id, collection]);
  return { add: createSharedCommits(mongoClient, keyOf, itemQueue.add) };
}
