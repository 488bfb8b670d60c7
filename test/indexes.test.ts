import { expect, test } from '@jest/globals';
import type { IndexDescription } from 'mongodb';
import type { Collections } from '../storage/collections.js';
import { ensureIndexes, INDEXES } from '../storage/indexes.js';
import { duringTests } from './support/during-tests.js';
import { connectMongo, testCollections } from './support/mongodb.js';
import { databaseBeside, sharedProduct } from './support/product.js';

const uri = databaseBeside(sharedProduct().mongodbUri, 'indexes');
const client = duringTests(() => connectMongo(uri));

test('processes that start together create the missing indexes, and keep those of operators', async () => {
  const db = client.db();
  await db.dropDatabase();
  await start(3);
  const keysOf = async (name: string) => (await db.collection(name).indexes()).map(({ key }) => JSON.stringify(key));
  for (const [name, indexes] of Object.entries(INDEXES)) {
    const expected = [{ _id: 1 }, ...indexes.map(({ key }) => key)].map((key) => JSON.stringify(key));
    expect([name, (await keysOf(name)).sort()]).toEqual([name, expected.sort()]);
  }

  const before = await keysOf('items');
  await db.collection('items').dropIndex((await db.collection('items').indexes()).at(-1)!.name!);
  await db.collection('items').createIndex({ of_an_operator: 1 });
  await start(1);
  expect((await keysOf('items')).sort()).toEqual([...before, '{"of_an_operator":1}'].sort());
});

test('an index whose options have changed is replaced, and the processes that start together agree', async () => {
  const db = client.db();
  await db.dropDatabase();
  const before: Record<string, IndexDescription[]> = {
    things: [{ key: { state: 1 }, partialFilterExpression: { state: 'open' } }, { key: { at: 1 } }],
  };
  const after: Record<string, IndexDescription[]> = {
    things: [
      { key: { state: 1 }, partialFilterExpression: { state: { $in: ['open', 'waiting'] } } },
      { key: { at: 1 }, expireAfterSeconds: 60 },
    ],
  };
  await ensureIndexes(db, before);
  await ensureIndexes(db, after);
  await Promise.all([ensureIndexes(db, after), ensureIndexes(db, after)]);
  expect(await db.collection('things').indexes()).toMatchObject([{ key: { _id: 1 } }, ...after.things!]);
});

async function start(processes: number): Promise<void> {
  const opened = await Promise.all(Array.from({ length: processes }, (): Promise<Collections> => testCollections(uri)));
  await Promise.all(opened.map(({ mongoClient }) => mongoClient.close()));
}
