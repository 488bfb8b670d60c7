import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Collection } from 'mongodb';
import type { Collections } from '../storage/collections.js';
import { INDEXES, QUEUE_INDEX } from '../storage/indexes.js';
import { openTestCollections } from './support/mongodb.js';
import { databaseBeside, sharedProduct } from './support/product.js';

describe('the shard keys', () => {
  let collections: Collections;
  beforeAll(async () => {
    collections = await openTestCollections(databaseBeside(sharedProduct().mongodbUri, 'shard-keys'));
  });
  const keyed = Object.entries(shardKeys()).filter(([, key]) => key !== null);

  test('are stated for every collection', () => {
    const opened = Object.values(collections).flatMap((each) =>
      each instanceof Collection ? [each.collectionName] : [],
    );
    expect(opened.length).toBeGreaterThan(30);
    const unstated = [...opened, ...Object.keys(INDEXES)].filter((name) => shardKeys()[name] === undefined);
    expect(unstated).toEqual([]);
  });

  test('begin every unique index', () => {
    const unique = keyed.flatMap(([name, key]) =>
      (INDEXES[name] ?? []).filter((index) => index.unique).map((index) => [name, key, Object.keys(index.key)[0]]),
    );
    expect(unique.length).toBeGreaterThanOrEqual(6);
    for (const [name, key, first] of unique) expect([name, first]).toEqual([name, key]);
  });

  test('begin every compound index, except those for work across organisations', () => {
    /** Read by the sender, and by the reconciler. */
    const ACROSS = [
      JSON.stringify(QUEUE_INDEX),
      JSON.stringify({ status: 1, updated_at: 1 }),
      JSON.stringify({ check_at: 1, _id: 1 }),
    ];
    const others = keyed.flatMap(([name, key]) =>
      (INDEXES[name] ?? [])
        .map((index) => index.key)
        .filter((fields) => Object.keys(fields).length > 1 && Object.keys(fields)[0] !== key)
        .map((fields) => JSON.stringify(fields)),
    );
    expect(others.sort()).toEqual(ACROSS.sort());
  });
});

/** @returns the shard key of each collection by its name, as docs/scaling.md states it; null when it is not sharded */
function shardKeys(): Record<string, string | null> {
  const table = /\n### Shard keys\n([\s\S]*?)\n###? /.exec(readFileSync('docs/scaling.md', 'utf8'))![1]!;
  const rows = [...table.matchAll(/^\| (`.+?) +\| (\S.*?) +\|$/gm)];
  return Object.fromEntries(
    rows.flatMap(([, names, key]) =>
      [...names!.matchAll(/`([\w.]+)`/g)].map(([, name]) => [name!, key === 'not sharded' ? null : key!.slice(1, -1)]),
    ),
  );
}
