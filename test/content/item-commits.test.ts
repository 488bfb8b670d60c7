import { beforeAll, describe, expect, test } from '@jest/globals';
import type { ClientSession } from 'mongodb';
import { readConfig } from '../../runtime/config.js';
import { createItemCommits, type ItemCommits } from '../../storage/content/item-commits.js';
import { createItemQueue, queuedItem } from '../../storage/content/item-queue.js';
import type { ItemRecord } from '../../storage/content/items.js';
import { inTransaction } from '../../storage/transactions.js';
import { collectionsDuringTests } from '../support/during-tests.js';
import { databaseBeside, sharedProduct } from '../support/product.js';

const ORG = 'item-commits';

function newItem(id: string, collection = 'default'): ItemRecord {
  const item = {
    org: ORG,
    database_id: 'tnt_1',
    database: 'inbox',
    collection,
    batch: `bat_${id}`,
    id,
    type: 'memory' as const,
    title: null,
    source: { kind: 'text' as const, text: `The text of ${id}.` },
    metadata: {},
    additional_metadata: {},
  };
  return queuedItem(item, undefined, new Date());
}

describe('new items of requests that arrive at the same time', () => {
  const collections = collectionsDuringTests(databaseBeside(sharedProduct().mongodbUri, 'item-commits'));
  let commits: ItemCommits;
  let transactions: Set<ClientSession>;

  beforeAll(() => {
    const queue = createItemQueue(collections);
    transactions = new Set();
    commits = createItemCommits({
      mongoClient: collections.mongoClient,
      itemQueue: {
        add(records, tx) {
          transactions.add(tx);
          return queue.add(records, tx);
        },
      },
    });
  });
  const storedIds = async (ids: readonly string[]) => {
    const found = await collections.items.find({ org: ORG, id: { $in: [...ids] } }).toArray();
    return found.map(({ id }) => id).sort();
  };

  test('share transactions', async () => {
    const ids = Array.from({ length: 30 }, (_, n) => `note-${String(n).padStart(2, '0')}`);
    const stored = await Promise.all(ids.map((id) => commits.add(newItem(id))));
    expect(stored.map(({ id }) => id)).toEqual(ids);
    expect(await storedIds(ids)).toEqual(ids);
    expect(transactions.size).toBeLessThan(ids.length);
  });

  test('harm only themselves when their id is taken', async () => {
    await commits.add(newItem('taken'));
    const ids = ['first', 'one', 'taken', 'two', 'two', 'three'];
    const results = await Promise.allSettled(ids.map((id) => commits.add(newItem(id))));
    const outcomes = results.map((result) => (result.status === 'fulfilled' ? result.value.id : result.reason.code));
    expect(outcomes.filter((outcome) => outcome === 'SOURCE_ALREADY_EXISTS')).toHaveLength(2);
    expect(outcomes).toEqual(expect.arrayContaining(['first', 'one', 'two', 'three']));
    expect(await storedIds(ids)).toEqual(['first', 'one', 'taken', 'three', 'two']);
  });

  test('continue the versions of items that were deleted', async () => {
    const removed = newItem('back');
    await collections.removedItems.insertOne({
      _id: removed._id,
      org: ORG,
      database_id: removed.database_id,
      collection: removed.collection,
      id: 'back',
      version: 4,
      files: [],
      removal: null,
      check_at: new Date(),
    });
    const [, back, other] = await Promise.all(['before', 'back', 'beside'].map((id) => commits.add(newItem(id))));
    expect(back).toMatchObject({ _id: removed._id, version: 5 });
    expect(other).toMatchObject({ version: 1 });
  });

  test('fit into one transaction, as many and as long as a request may bring', async () => {
    const { POSTBACK_MAX_ITEMS: count, POSTBACK_MAX_FIELD_BYTES: bytes } = readConfig({});
    const text = 'x'.repeat(Math.floor(bytes / count));
    const items = Array.from({ length: count }, (_, n) => newItem(`long-${n}`, 'long'));
    const records = items.map((item) => ({ ...item, source: { kind: 'text' as const, text } }));
    await inTransaction(collections.mongoClient, (tx) => createItemQueue(collections).add(records, tx));
    expect(await collections.items.countDocuments({ org: ORG, collection: 'long' })).toBe(count);
  });
});
