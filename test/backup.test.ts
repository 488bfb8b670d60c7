import { createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGzip, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { BSON, type Db, type Document } from 'mongodb';
import { createSealer } from '../domain/sealing.js';
import { checkBackup } from '../storage/backup/archive.js';
import { type DumpOptions, dump } from '../storage/backup/dump.js';
import { restore } from '../storage/backup/restore.js';
import type { Collections } from '../storage/collections.js';
import { createFiles } from '../storage/files/index.js';
import { INDEXES } from '../storage/indexes.js';
import { runCommand } from './support/command.js';
import { openTestCollections } from './support/mongodb.js';
import { databaseBeside, sharedProduct } from './support/product.js';
import { S3_ENVIRONMENT, startS3 } from './support/s3.js';

const { mongodbUri } = sharedProduct();
const HOUR_MS = 3_600_000;
const SOURCE = databaseBeside(mongodbUri, 'backup-source');
const TARGET = databaseBeside(mongodbUri, 'backup-target');

describe('a backup', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postback-backup-'));
  let source: Collections;
  let target: Collections;
  let count = 0;
  beforeAll(async () => {
    source = await openTestCollections(SOURCE);
    target = await openTestCollections(TARGET);
  });
  beforeEach(async () => {
    await source.db.dropDatabase();
    await target.db.dropDatabase();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const newPath = () => join(folder, `backup-${++count}.gz`);
  /** @param duringRead runs after each line */
  async function takeBackup(
    duringRead: (line: number) => Promise<void> = async () => undefined,
    bucket: DumpOptions['bucket'] = null,
  ): Promise<string> {
    const path = newPath();
    async function* lines() {
      let line = 0;
      for await (const text of dump(source, { readPreference: 'primary', bucket })) {
        yield text;
        line += 1;
        await duringRead(line);
      }
    }
    await pipeline(Readable.from(lines()), createGzip(), createWriteStream(path));
    return path;
  }
  const restoreFrom = async (path: string) => restore(path, target, await createFiles(target));
  const postback = (args: string[], env: Record<string, string>) =>
    runCommand(args, { POSTBACK_DATA_DIR: folder, ...env });
  const raw = (db: Db, name: string) => db.collection(name).find({}, { raw: true }).sort({ _id: 1 }).toArray();

  test('shows one point in time, while transactions move documents between collections', async () => {
    const { db, mongoClient } = source;
    // Read in several batches of the cursor.
    const COUNT = 1_500;
    const text = 'x'.repeat(20_000);
    const things = Array.from({ length: COUNT }, (_, n) => ({ _id: n as never, text, home: 'left' }));
    await db.collection('left').insertMany(things);
    await db.collection('right').insertOne({ _id: 'first' as never, home: 'right' });
    await db.collection<{ _id: string; moves: number }>('counts').insertOne({ _id: 'moves', moves: 0 });
    let moved = 0;
    /** Each document is in exactly one of the collections, and the counter is the number of those that have moved. */
    const move = async (n: number) => {
      await mongoClient.withSession((session) =>
        session.withTransaction(async () => {
          await db.collection('left').deleteOne({ _id: n as never }, { session });
          await db.collection('right').insertOne({ _id: n as never, home: 'right' }, { session });
          await db.collection('counts').updateOne({ _id: 'moves' as never }, { $inc: { moves: 1 } }, { session });
        }),
      );
      moved += 1;
    };
    // From both ends, so that documents move before and after they are read.
    const path = await takeBackup(async (line) => {
      if (line % 30 === 0 && line < COUNT) await move(line % 60 === 0 ? line : COUNT - line);
    });
    expect(moved).toBe(49);
    await restoreFrom(path);
    const ids = async (name: string) => (await target.db.collection(name).find({}).toArray()).map(({ _id }) => _id);
    const [left, right] = [await ids('left'), await ids('right')];
    const counted = await target.db.collection('counts').findOne({ _id: 'moves' as never });
    expect(new Set([...left, ...right]).size).toBe(COUNT + 1);
    expect(left.length + right.length).toBe(COUNT + 1);
    expect(right.length).toBe(1 + (counted!.moves as number));
    expect(counted!.moves).toBeGreaterThan(0);
  });

  test('keeps every document as it is, with the types of its numbers and fields that look like types', async () => {
    const values = {
      int: new BSON.Int32(1),
      double: new BSON.Double(1),
      long: BSON.Long.fromNumber(7),
      large: BSON.Long.fromString('9007199254740993'),
      decimal: BSON.Decimal128.fromString('0.10'),
      date: new Date(0),
      bytes: new BSON.Binary(Buffer.from([0, 255, 7])),
      nothing: null,
      list: [1.5, { deep: [new Date(1)] }],
      'a.b': 'dotted',
      text: 'zwei\nZeilen – "quoted" \u2028',
    };
    const looksLikeType = { metadata: { $date: 'not a date', $oid: 7, list: [{ $numberInt: 'x' }] } };
    await source.db
      .collection<Document>('things')
      .insertMany([
        { _id: 'values', ...values } as never,
        { _id: 'fields', ...looksLikeType, long: BSON.Long.fromNumber(7) } as never,
        { _id: { org: 'a', n: 1 } as never },
        { _id: 12 as never },
      ]);
    await restoreFrom(await takeBackup());
    expect(await raw(target.db, 'things')).toEqual(await raw(source.db, 'things'));
    expect(await raw(source.db, 'things')).toHaveLength(4);
  });

  test('is restored with all indexes', async () => {
    await restoreFrom(await takeBackup());
    for (const [name, indexes] of Object.entries(INDEXES)) {
      const restored = await target.db.collection(name).indexes();
      expect([name, restored.length]).toEqual([name, indexes.length + 1]);
    }
  });

  test('is restored with the indexes by which MongoDB finds a file and its parts', async () => {
    await (await createFiles(source)).write('fil_1', { org: 'acme', batch: 'one' }, Readable.from([Buffer.from('x')]));
    await restoreFrom(await takeBackup());
    for (const name of ['files.files', 'files.chunks']) {
      const [created, restored] = await Promise.all([source, target].map(({ db }) => db.collection(name).indexes()));
      expect(created!.length).toBeGreaterThan(1);
      expect(restored).toEqual(expect.arrayContaining(created!));
    }
  });

  test('leaves out which processes run, and when the reconciler last did', async () => {
    for (const name of ['processes', 'sweeps', 'things']) {
      await source.db.collection(name).insertOne({ _id: 'one' as never, at: new Date() });
    }
    await restoreFrom(await takeBackup());
    const counts = ['processes', 'sweeps', 'things'].map((name) => target.db.collection(name).countDocuments());
    expect(await Promise.all(counts)).toEqual([0, 0, 1]);
  });

  test('never replaces a file, nor one that another backup is writing', async () => {
    const path = newPath();
    const taken = () => postback(['backup', path], { MONGODB_URI: SOURCE });
    for (const [existing, message] of [
      [`${path}.part`, 'another backup is writing it'],
      [path, 'name a new file'],
    ] as const) {
      writeFileSync(existing, 'of somebody else');
      expect(await taken()).toMatchObject({ code: 1, err: expect.stringContaining(message) });
      expect(readFileSync(existing, 'utf8')).toBe('of somebody else');
      rmSync(existing);
    }
  });

  test('that cannot begin leaves nothing in the way of the next', async () => {
    const path = newPath();
    const unusable = new URL(SOURCE);
    unusable.searchParams.set('tls', 'maybe');
    expect(await postback(['backup', path], { MONGODB_URI: unusable.href })).toMatchObject({ code: 1 });
    expect(existsSync(`${path}.part`)).toBe(false);
  });

  test('makes unfinished records due for the reconciler', async () => {
    const later = new Date(Date.now() + HOUR_MS);
    const waiting = { _id: 'waits' as never, status: 'pending_human_input', check_at: later };
    const unfollowed = { _id: 'dlv_1' as never, status: 'pending', check_at: null };
    await source.db.collection('crew_executions').insertOne(waiting);
    await source.db.collection('deliveries').insertOne({ ...unfollowed, dedupe_key: 'one' });
    await source.db.collection('connectors').insertOne({ _id: 'con_1' as never, pending: false, check_at: later });
    await source.db.collection('databases').insertOne({ _id: 'tnt_1' as never, next_index: { generation: 2 } });
    await source.db.collection('index_rebuilds').insertOne({ _id: 'rbd_1' as never, status: 'running' });
    await restoreFrom(await takeBackup());
    const restored = async (name: string) => (await target.db.collection(name).findOne({}))!;
    expect((await restored('crew_executions')).check_at.getTime()).toBeLessThanOrEqual(Date.now());
    expect((await restored('deliveries')).check_at).toBeNull();
    expect(await restored('connectors')).toEqual({ _id: 'con_1', pending: true });
    expect(await restored('databases')).toEqual({ _id: 'tnt_1' });
    expect(await restored('index_rebuilds')).toMatchObject({ status: 'cancelled' });
  });

  test('holds what was deleted and added again while it was taken', async () => {
    const things = source.db.collection<{ _id: string; version: number }>('things');
    await things.insertMany(['a', 'b', 'c'].map((_id) => ({ _id, version: 1 })));
    const path = await takeBackup(async (line) => {
      // After the collection was read: the header is the first line.
      if (line !== 4) return;
      await things.deleteOne({ _id: 'a' });
      await things.deleteOne({ _id: 'b' });
      await things.insertOne({ _id: 'b', version: 2 });
      await source.db.collection<{ _id: string; version: number }>('new').insertOne({ _id: 'd', version: 1 });
    });
    await restoreFrom(path);
    const found = await target.db.collection<{ _id: string }>('things').find().sort({ _id: 1 }).toArray();
    expect(found).toEqual([
      { _id: 'b', version: 2 },
      { _id: 'c', version: 1 },
    ]);
    expect(await target.db.collection('new').countDocuments()).toBe(1);
  });

  test('that is cut off, damaged or something else is refused before anything is written', async () => {
    await source.db.collection('things').insertMany(Array.from({ length: 200 }, () => ({ text: Math.random() })));
    const whole = await takeBackup();
    await expect(checkBackup(whole)).resolves.toMatchObject({ end: { lines: 201 } });
    const bytes = readFileSync(whole);

    const short = newPath();
    writeFileSync(short, bytes);
    truncateSync(short, bytes.length - 20);
    const damaged = newPath();
    const wrong = Buffer.from(bytes);
    wrong[bytes.length >> 1]! ^= 0xff;
    writeFileSync(damaged, wrong);
    const other = newPath();
    await pipeline(Readable.from(['{"c":"things","d":{}}\n']), createGzip(), createWriteStream(other));
    const withoutEnd = newPath();
    const text = gunzipSync(bytes).toString();
    await pipeline(
      Readable.from([text.slice(0, text.lastIndexOf('{"end"'))]),
      createGzip(),
      createWriteStream(withoutEnd),
    );
    for (const path of [short, damaged, other, withoutEnd]) {
      const { code, err } = await postback(['restore', path], { MONGODB_URI: TARGET });
      expect([code, err]).toEqual([1, expect.stringContaining('is not a complete backup')]);
    }
    expect(await target.db.listCollections().toArray()).toEqual([]);
  });

  test('is not restored into a database that has content', async () => {
    const path = await takeBackup();
    await target.db.collection('items').insertOne({ _id: 'itm_1' as never });
    const { code, err } = await postback(['restore', path], { MONGODB_URI: TARGET });
    expect([code, err]).toEqual([1, expect.stringContaining('not empty: the collection items has documents')]);
    expect(await target.db.collection('items').countDocuments()).toBe(1);
  });

  test('names the key of its secrets, and is not restored without it', async () => {
    const keyOf = (byte: number) => Buffer.alloc(32, byte).toString('base64');
    const sealer = createSealer(keyOf(1));
    const sealed_secret = new BSON.Binary(sealer.seal('a secret', 'webhook-signing-secret/acme'));
    await source.db.collection('registrations').insertOne({ _id: 'acme' as never, sealed_secret });
    const path = newPath();
    const taken = await postback(['backup', path, '--json'], { MONGODB_URI: SOURCE });
    expect([taken.code, JSON.parse(taken.out)]).toEqual([
      0,
      { path, bytes: expect.any(Number), point: expect.any(String), sealing_keys: [sealer.keyId], lines: 2 },
    ]);
    const without = await postback(['restore', path], { MONGODB_URI: TARGET, POSTBACK_SEALING_KEY: keyOf(2) });
    expect(without.code).toBe(1);
    expect(without.err).toContain(`sealed with the key ${sealer.keyId}, and POSTBACK_SEALING_KEY holds the key`);
    const both = { MONGODB_URI: TARGET, POSTBACK_SEALING_KEY: `${keyOf(2)},${keyOf(1)}` };
    expect(await postback(['restore', path, '--json'], both)).toMatchObject({ code: 0 });
    expect(await raw(target.db, 'registrations')).toEqual(await raw(source.db, 'registrations'));
    expect((await postback(['backup', path], { MONGODB_URI: SOURCE })).err).toContain('exists; name a new file');
  });

  test('holds the files of a bucket, and restores them into another bucket or into MongoDB', async () => {
    const s3 = await startS3('old');
    const other = await startS3('new');
    try {
      const content = Buffer.alloc(3_000_000, 'light');
      await s3.put('files/fil_1', content.toString());
      await source.db.collection<Document>('items').insertOne({
        _id: 'itm_1' as never,
        org: 'acme',
        source: { kind: 'file', file_id: 'fil_1' },
        served: { source: { kind: 'file', file_id: 'fil_of_mongodb' } },
      });
      const path = newPath();
      const from = { ...S3_ENVIRONMENT, AWS_ENDPOINT_URL: s3.endpoint, POSTBACK_FILES_URI: 's3://old/files' };
      expect((await postback(['backup', path], { MONGODB_URI: SOURCE, ...from })).code).toBe(0);

      const to = { ...S3_ENVIRONMENT, AWS_ENDPOINT_URL: other.endpoint, POSTBACK_FILES_URI: 's3://new/again' };
      const restored = await postback(['restore', path, '--json'], { MONGODB_URI: TARGET, ...to });
      expect([restored.code, JSON.parse(restored.out)]).toMatchObject([0, { files: 1, documents: { items: 1 } }]);
      expect(await other.keys()).toEqual(['again/fil_1']);
      expect(await target.db.collection('unclaimed_files').countDocuments()).toBe(0);
      await target.db.dropDatabase();
      const again = await postback(['restore', path], { MONGODB_URI: TARGET, ...to });
      expect([again.code, again.err]).toEqual([1, expect.stringContaining('s3://new/again is not empty')]);

      expect((await postback(['restore', path], { MONGODB_URI: TARGET })).code).toBe(0);
      const files = await createFiles(target);
      const read = await buffer(files.read('fil_1'));
      expect(read.equals(content)).toBe(true);
      expect(await files.unclaimedBefore(new Date(Date.now() + 1_000), 10)).toEqual([]);
    } finally {
      await s3.close();
      await other.close();
    }
  });

  test('holds the files from before the bucket was configured, also of items that change meanwhile', async () => {
    const owner = { org: 'acme', batch: 'one' };
    await (await createFiles(source)).write('fil_1', owner, Readable.from([Buffer.from('light')]));
    const items = source.db.collection<Document>('items');
    const item = { _id: 'itm_1' as never, org: 'acme', source: { kind: 'file', file_id: 'fil_1' } };
    await items.insertOne(item);
    const emptyBucket = { read: async () => null };
    const path = await takeBackup(async (line) => {
      if (line === 1) await items.updateOne({}, { $set: { version: 2 } });
    }, emptyBucket);
    await restoreFrom(path);
    expect(await target.db.collection('items').findOne({})).toEqual({ ...item, version: 2 });
    expect((await buffer((await createFiles(target)).read('fil_1'))).toString()).toBe('light');
  });
});
