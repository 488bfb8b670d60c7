import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type FileStore, FileStoreError } from '../domain/file-store.js';
import type { S3Location } from '../domain/s3-location.js';
import { createFiles } from '../storage/files/index.js';
import { duringTests } from './support/during-tests.js';
import { testCollections } from './support/mongodb.js';
import { databaseBeside, sharedProduct } from './support/product.js';
import { type ServerProxy, startProxy } from './support/proxy.js';
import { S3_ENVIRONMENT, startS3 } from './support/s3.js';

const MiB = 1024 * 1024;
const owner = { org: 'org', batch: 'batch-1' };
const soon = () => new Date(Date.now() + 1_000);

let s3: Awaited<ReturnType<typeof startS3>>;
let proxy: ServerProxy;
let location: S3Location;
let gridFs: FileStore;
let bucket: FileStore;
const collections = duringTests(
  () => testCollections(databaseBeside(sharedProduct().mongodbUri, 'files-test')),
  ({ db }) => db.dropDatabase(),
);
beforeAll(async () => {
  Object.assign(process.env, S3_ENVIRONMENT);
  s3 = await startS3('store');
  proxy = await startProxy(new URL(s3.endpoint).host);
  location = { bucket: 'store', prefix: 'files/', endpoint: `http://${proxy.address}` };
  gridFs = await createFiles(collections);
  bucket = await createFiles(collections, location);
});
afterAll(async () => {
  await proxy?.close();
  await s3?.close();
});

const inMongo = async () => {
  const counts = ['files.files', 'files.chunks'].map((name) => collections.db.collection(name).countDocuments());
  return (await Promise.all(counts)).reduce((sum, count) => sum + count);
};

describe.each([
  ['GridFS', () => gridFs, inMongo],
  ['a bucket', () => bucket, async () => (await s3.keys()).length],
])('files in %s', (name, files, stored) => {
  const write = (id: string, content: Buffer, batch = owner.batch) =>
    files().write(`${name}-${id}`, { ...owner, batch }, Readable.from([content]));
  const read = (id: string, range?: { start: number; end: number }) => buffer(files().read(`${name}-${id}`, range));
  const remove = (id: string) => files().remove(`${name}-${id}`);

  test.each([
    ['nothing', 0],
    ['a few bytes', 100],
    ['a file of several parts', 11 * MiB + 7],
  ])('%s is read as it was stored, as a whole and in part, and removed completely', async (_, size) => {
    const content = randomBytes(size);
    await write('one', content);
    expect((await read('one')).equals(content)).toBe(true);
    const [start, end] = [Math.floor(size / 3), Math.floor(size / 2)];
    expect((await read('one', { start, end })).equals(content.subarray(start, end))).toBe(true);
    const folder = mkdtempSync(join(tmpdir(), 'postback-files-'));
    await files().copyTo(`${name}-one`, join(folder, 'copy'));
    expect(readFileSync(join(folder, 'copy')).equals(content)).toBe(true);
    rmSync(folder, { recursive: true });
    await remove('one');
    await expect(read('one')).rejects.toThrow();
    expect(await stored()).toBe(0);
    await remove('one');
  });

  test('a stream that fails leaves no data, and its error is thrown', async () => {
    async function* broken() {
      yield randomBytes(6 * MiB);
      throw new Error('the client went away');
    }
    await expect(files().write(`${name}-broken`, owner, broken())).rejects.toThrow('the client went away');
    expect(await stored()).toBe(0);
    expect(await files().unclaimedBefore(soon(), 10)).toEqual([]);
  });

  test('a file is unclaimed until its request claims it', async () => {
    await write('claimed', Buffer.from('a'), 'batch-claimed');
    await write('unclaimed', Buffer.from('b'), 'batch-unclaimed');
    await files().claim({ ...owner, batch: 'batch-claimed' });
    const unclaimed = [{ file_id: `${name}-unclaimed`, ...owner, batch: 'batch-unclaimed' }];
    expect(await files().unclaimedBefore(soon(), 10)).toEqual(unclaimed);
    expect(await files().unclaimedBefore(new Date(Date.now() - 60_000), 10)).toEqual([]);
    await remove('unclaimed');
    expect(await files().unclaimedBefore(soon(), 10)).toEqual([]);
    await remove('claimed');
  });
});

describe('a file store in a bucket', () => {
  test('stores files under its prefix', async () => {
    await bucket.write('fil_1', owner, Readable.from([Buffer.from('x')]));
    expect(await s3.keys()).toEqual(['files/fil_1']);
    await bucket.remove('fil_1');
  });

  test('reads, claims and removes files from before the bucket was configured', async () => {
    await gridFs.write('early', owner, Readable.from([Buffer.from('stored before')]));
    expect((await buffer(bucket.read('early'))).toString()).toBe('stored before');
    expect((await buffer(bucket.read('early', { start: 7, end: 13 }))).toString()).toBe('before');
    expect(await bucket.unclaimedBefore(soon(), 10)).toEqual([{ file_id: 'early', ...owner }]);
    await bucket.claim(owner);
    expect(await bucket.unclaimedBefore(soon(), 10)).toEqual([]);
    await bucket.remove('early');
    expect(await inMongo()).toBe(0);
  });

  test('reports an unreachable bucket, and leaves started uploads to the reconciler', async () => {
    proxy.cut();
    try {
      const upload = bucket.write('started', owner, Readable.from([Buffer.from('x')]));
      await expect(upload).rejects.toBeInstanceOf(FileStoreError);
      await expect(buffer(bucket.read('started'))).rejects.toBeInstanceOf(FileStoreError);
      await expect(bucket.remove('started')).rejects.toBeInstanceOf(FileStoreError);
      await expect(createFiles(collections, location)).rejects.toThrow(/bucket "store" cannot be reached/);
    } finally {
      proxy.restore();
    }
    expect(await bucket.unclaimedBefore(soon(), 10)).toEqual([{ file_id: 'started', ...owner }]);
    await bucket.remove('started');
    expect(await bucket.unclaimedBefore(soon(), 10)).toEqual([]);
  });

  test('reports the name of a bucket that does not exist', async () => {
    const nowhere = createFiles(collections, { ...location, bucket: 'nowhere' });
    await expect(nowhere).rejects.toThrow(/bucket "nowhere" cannot be reached/);
  });
});
