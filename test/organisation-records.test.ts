import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Collections } from '../storage/collections.js';
import { openTestCollections } from './support/mongodb.js';
import { databaseBeside, sharedProduct } from './support/product.js';

describe('the records of an organisation', () => {
  let collections: Collections;
  beforeAll(async () => {
    collections = await openTestCollections(databaseBeside(sharedProduct().mongodbUri, 'organisation-records'));
    await collections.db.dropDatabase();
    await collections.uploads.insertMany([{ _id: 'fil_1', org: 'other', filename: 'theirs', size: 1 } as never]);
  });

  test("are all that its methods read, change and delete: another organisation's record stays", async () => {
    const own = collections.uploads.forOrg('acme');
    const change = { $set: { filename: 'changed' } };
    const any = { _id: 'fil_1' };
    expect(await own.findOne(any)).toBeNull();
    expect(await own.find({}).toArray()).toEqual([]);
    expect(await own.countDocuments({})).toBe(0);
    expect(await own.aggregate([{ $match: any }]).toArray()).toEqual([]);
    expect(await own.findOneAndUpdate(any, change)).toBeNull();
    await own.updateOne(any, change);
    await own.updateMany({}, change);
    expect(
      await own.updateEach([
        { filter: any, update: change },
        { filter: {}, update: change, multi: true },
      ]),
    ).toBe(0);
    await own.deleteOne(any);
    await own.deleteMany({});
    const theirs = await collections.uploads.find().toArray();
    expect(theirs).toEqual([{ _id: 'fil_1', org: 'other', filename: 'theirs', size: 1 }]);
  });

  test('cannot be added for another organisation, nor with a filter that names one', async () => {
    const own = collections.uploads.forOrg('acme');
    const theirs = { _id: 'fil_2', org: 'other' } as never;
    await expect(own.insertOne(theirs)).rejects.toThrow('another organisation');
    const ours = { _id: 'fil_3', org: 'acme' } as never;
    await expect(own.insertMany([ours, theirs])).rejects.toThrow('another organisation');
    // The filter of a caller that is not type-checked is overwritten, not obeyed.
    expect(await own.findOne({ org: 'other' } as never)).toBeNull();
  });
});

test('only listed modules see whole collections: all others name the organisation', () => {
  const files = ['activities', 'api', 'storage', 'worker'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  );
  const seeing = files.filter((file) => file.endsWith('.ts') && seesAll(readFileSync(file, 'utf8')));
  const listed = Object.values(WHOLE_COLLECTIONS).flat();
  expect(seeing.filter((file) => !listed.some((start) => file.startsWith(join('storage', start))))).toEqual([]);
});

test.each(["Access<'items' | 'db'>", "Access<\n  'chunks'\n>"])('%j sees a whole collection', (type) => {
  expect(seesAll(type)).toBe(true);
  expect(seesAll("Access<'items' | 'mongoClient' | 'now'>")).toBe(false);
});

/** Names in `Access<…>` that give the whole database, or a whole collection. */
const WHOLE = new Set([
  'db',
  ...Array.from(
    readFileSync('storage/collections.ts', 'utf8').matchAll(/(\w+): db\.collection</g),
    ([, name]) => name!,
  ),
]);

function seesAll(source: string): boolean {
  const accessed = Array.from(source.matchAll(/\bAccess<([^>]*)>/g), ([, names]) => names!.match(/\w+/g) ?? []);
  return SEES_ALL.test(source) || accessed.flat().some((name) => WHOLE.has(name));
}

const SEES_ALL =
  /import [^;]*\b(Collection|Db)\b[^;]* from 'mongodb'|import [^;]*\bCollections\b[^;]* from '[^']*\/collections\.js'/;

/** Files, or beginnings of their paths, by reason. */
const WHOLE_COLLECTIONS: Record<string, readonly string[]> = {
  'they make the collections, their indexes, and the view by organisation': [
    'collections.ts',
    'indexes.ts',
    'organisation-records.ts',
    'queries.ts',
    'bulk-update.ts',
  ],
  'the id of a record is its organisation, or begins with it': [
    'organisations.ts',
    'quotas.ts',
    'model-tokens.ts',
    'rate-limits.ts',
    'webhooks/registrations.ts',
    'webhooks/signing-secrets.ts',
  ],
  'operators see all organisations': ['organisation-directory.ts'],
  'an API key is found before its organisation is known': ['api-keys.ts', 'key-uses.ts'],
  'metrics count the unfinished work of all organisations': ['backlog.ts'],
  'operators back up and seal whole collections': ['backup/', 'sealed-fields.ts'],
  'the reconciler removes expired uploads of all organisations': ['ai-jobs/expired-uploads.ts'],
  'records of processes, compactions and files, which no organisation has': [
    'processes.ts',
    'content/compaction-leases.ts',
    'files/',
  ],
  'the change stream of all organisations; the API sends each client its own events': ['events/changes.ts'],
  'rebuilds cover the indexes of all organisations': ['content/index-rebuilds.ts', 'content/database-indexes.ts'],
  'the records of a database, whose id belongs to one organisation': [
    'content/chunks.ts',
    'content/graph.ts',
    'content/database-contents.ts',
  ],
  'a receiver has deliveries of many organisations': ['webhooks/delivery-queue.ts'],
};
