import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Binary, BSON, type Db, type Document, type IndexDescription, type MongoClient } from 'mongodb';
import { createAiJobs } from '../storage/ai-jobs/jobs.js';
import { type Collections, connectCollections } from '../storage/collections.js';
import { ensureIndexes, INDEXES } from '../storage/indexes.js';
import { MIGRATIONS } from '../storage/migrations/list.js';
import type { Migration, MigrationStep, Phase } from '../storage/migrations/migration.js';
import { NAMED_COLLECTIONS, nameOrganisations } from '../storage/migrations/name-organisations.js';
import { type MigrationRecord, migrate, readMigrations } from '../storage/migrations/run.js';
import { backfill } from './support/backfill.js';
import { runCommand } from './support/command.js';
import { connectMongo } from './support/mongodb.js';
import { databaseBeside, sharedProduct } from './support/product.js';

const uri = databaseBeside(sharedProduct().mongodbUri, 'migrations');
const NO_INDEXES: Record<string, IndexDescription[]> = {};

describe('migrations', () => {
  const ran: string[] = [];
  let client: MongoClient;
  let db: Db;
  beforeEach(async () => {
    client ??= await connectMongo(uri);
    db = client.db();
    await db.dropDatabase();
    ran.splice(0);
  });
  afterAll(() => client.close());

  const noted = (number: number, phase: Phase, run: (step: MigrationStep) => Promise<void> = async () => undefined) =>
    ({
      number,
      phase,
      name: `${phase} ${number}`,
      run: async (step) => {
        ran.push(`${phase} ${number}`);
        await run(step);
      },
    }) satisfies Migration;

  test('run once in their order, and those of the phase "contract" only when they are asked for', async () => {
    const migrations = [noted(1, 'expand'), noted(2, 'contract'), noted(3, 'expand')];
    const options = { migrations, indexes: NO_INDEXES };
    expect(await migrate(db, options)).toEqual(['0001', '0003', expect.stringMatching(/^indexes\/[0-9a-f]{12}$/)]);
    expect(await migrate(db, options)).toEqual([]);
    expect(ran).toEqual(['expand 1', 'expand 3']);
    expect(await migrate(db, { ...options, contract: true })).toEqual(['0002']);
    expect(await migrate(db, { ...options, contract: true })).toEqual([]);
    expect(ran).toEqual(['expand 1', 'expand 3', 'contract 2']);
  });

  test('create indexes that are missing, keep others, and do it again when the list has changed', async () => {
    await db.collection('things').createIndex({ own: 1 });
    const keys = async () => (await db.collection('things').indexes()).map(({ key }) => Object.keys(key).join());
    await migrate(db, { migrations: [], indexes: { things: [{ key: { a: 1 } }] } });
    expect(await keys()).toEqual(['_id', 'own', 'a']);
    const longer: Record<string, IndexDescription[]> = { things: [{ key: { a: 1 } }, { key: { b: 1 } }] };
    expect(await migrate(db, { migrations: [], indexes: longer })).toHaveLength(1);
    expect(await keys()).toEqual(['_id', 'own', 'a', 'b']);
  });

  test('run at one process when several start together, and the others wait for its end', async () => {
    const others = await Promise.all([connectMongo(uri), connectMongo(uri), connectMongo(uri)]);
    let ended = false;
    const slow = noted(1, 'expand', async ({ db }) => {
      await db.collection('things').insertMany(Array.from({ length: 500 }, () => ({ text: 'x'.repeat(100) })));
      ended = true;
    });
    const options = { migrations: [slow], indexes: NO_INDEXES };
    const results = await Promise.all(
      [client, ...others].map(async (each) => {
        const ids = await migrate(each.db(), options);
        return { ids, ended };
      }),
    );
    expect(ran).toEqual(['expand 1']);
    expect(results.filter(({ ids }) => ids.length > 0)).toHaveLength(1);
    expect(results.every(({ ended }) => ended)).toBe(true);
    for (const other of others) await other.close();
  });

  test('continue where a process was killed', async () => {
    const things = Array.from({ length: 50 }, (_, n) => ({ _id: n as never, kind: 'old', changes: 0 }));
    await db.collection('things').insertMany(things);
    const child = fork('dist/test/support/migrates-until-killed.js', [uri, '1000'], { stdio: 'inherit' });
    await once(child, 'message');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await db.collection('things').countDocuments({ changes: 1 })).toBe(30);
    const before = await readMigrations(db, { migrations: [backfill()], indexes: NO_INDEXES });
    expect(before.migrations[0]).toMatchObject({ id: '0001', state: 'running', finished_at: null });

    const positions: unknown[] = [];
    const migration = backfill(async (position) => void positions.push(position));
    expect(await migrate(db, { migrations: [migration], indexes: NO_INDEXES })).toContain('0001');
    expect(positions).toEqual([
      { collection: 'things', after: 39 },
      { collection: 'things', after: 49 },
    ]);
    expect(await db.collection('things').countDocuments({ changes: 1 })).toBe(50);
  });

  test('a process whose place another one has taken cannot go on', async () => {
    const migration = noted(1, 'expand', async ({ db, save }) => {
      await db.collection<MigrationRecord>('migrations').updateOne({ _id: '0001' }, { $set: { run: 'of another' } });
      await save('too late');
    });
    await expect(migrate(db, { migrations: [migration], indexes: NO_INDEXES })).rejects.toThrow('has taken over');
    const record = await db.collection<MigrationRecord>('migrations').findOne({ _id: '0001' });
    expect(record).toMatchObject({ state: 'running', run: 'of another' });
    expect(record).not.toHaveProperty('position');
  });

  test('an older release runs beside an expanded database, and refuses a contracted one', async () => {
    const older = { migrations: [noted(1, 'expand')], indexes: NO_INDEXES };
    const newer = { migrations: [...older.migrations, noted(2, 'expand'), noted(3, 'contract')], indexes: NO_INDEXES };
    await migrate(db, newer);
    expect(await migrate(db, older)).toEqual([]);
    await migrate(db, { ...newer, contract: true });
    await expect(migrate(db, older)).rejects.toThrow(/changed for a newer release \(migration 0003: contract 3\)/);
  });

  test('a process does not start on the database of a newer release', async () => {
    await db.collection<MigrationRecord>('migrations').insertOne({
      _id: '9999',
      name: 'drop a field',
      phase: 'contract',
      state: 'done',
      run: 'of a newer release',
      started_at: new Date(),
      finished_at: new Date(),
    });
    await expect(connectCollections(uri, 'postback-test')).rejects.toThrow('Run the newer release.');
  });

  test('are listed and run by the command line', async () => {
    const postback = (...args: string[]) => runCommand(['migrate', ...args], { MONGODB_URI: uri });
    expect((await postback('status')).out).toMatch(/^indexes\/[0-9a-f]{12} {2}expand {2}pending {2}- {2}create/m);
    const { out, err, code } = await postback('run', '--contract', '--json');
    expect([code, err]).toEqual([0, expect.stringMatching(/Migration indexes\/\w+: create missing indexes/)]);
    expect(JSON.parse(out)).toEqual({ ran: expect.arrayContaining([expect.stringMatching(/^indexes/)]), waiting: [] });
    const status = JSON.parse((await postback('status', '--json')).out);
    expect(status.running).toBeNull();
    expect(status.migrations).toHaveLength(MIGRATIONS.length + 1);
    expect(status.migrations.map(({ state }: { state: string }) => state)).not.toContain('pending');
    expect((await postback('run')).out).toContain('The database has all of these migrations.');
    expect(await db.collection('deliveries').indexes()).toHaveLength(INDEXES.deliveries!.length + 1);
  });

  describe('of a database from before the organisation was in all records and indexes', () => {
    const before = BSON.EJSON.parse(
      readFileSync('test/fixtures/indexes-before-organisation.json', 'utf8'),
    ) as typeof INDEXES;
    const keysOf = async (of: Db) => {
      const names = (await of.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
      const entries = await Promise.all(
        names.map(async (name) => [
          name,
          (await of.collection(name).indexes()).map(({ key }) => JSON.stringify(key)).sort(),
        ]),
      );
      return Object.fromEntries(entries.filter(([name]) => (name as string) in INDEXES)) as Record<string, string[]>;
    };
    const old = (name: string) => db.collection<Document & { _id: string }>(name);

    /** What the release before stores: records without an organisation, and those that they belong to. */
    async function storeAsBefore(): Promise<void> {
      await ensureIndexes(db, before);
      await old('ai_jobs').insertOne({ _id: 'job', org: 'acme' });
      await old('ai_job_results').insertOne({ _id: 'job', output: new Binary(), original: null, expires_at: null });
      await old('ai_job_results').insertOne({ _id: 'job of nobody' });
      await old('crew_executions').insertOne({ _id: 'execution', org: 'acme' });
      await old('crew_steps').insertOne({ _id: 'execution/task/1/1', execution: 'execution' });
      await old('crew_feedback').insertOne({ _id: 'fbk_1', execution: 'execution' });
      await old('databases').insertOne({ _id: 'tnt_1', org: 'acme', name: 'library' });
      await old('feedback_tallies').insertOne({ _id: 'tnt_1/default/a', database_id: 'tnt_1', sum: 1, count: 1 });
      await old('quota_gates').insertOne({ _id: 'acme/jobs', use: {} });
      await old('idempotency_keys').insertOne({ _id: 'acme/POST /v3/async/abc', response: null });
      await old('deliveries').insertOne({ _id: 'dlv_1', org: 'acme', dedupe_key: 'ai-job/job' });
    }

    test('are rolled over: first both forms of the indexes, then only those that a new database has', async () => {
      await storeAsBefore();
      await db.collection('items').createIndex({ own: 1 }, { name: 'of an operator' });
      const oldKeys = await keysOf(db);
      await migrate(db);
      const both = await keysOf(db);
      for (const [name, keys] of Object.entries(oldKeys)) expect(both[name]).toEqual(expect.arrayContaining(keys));
      // The old code names its index, and relies on the uniqueness that it knows.
      const [hint] = before.items!.flatMap(({ key }) =>
        'type' in key && 'database_id' in key ? [key as Document] : [],
      );
      await db.collection('items').find({ database_id: 'tnt_1' }).hint(hint!).toArray();
      await expect(
        old('deliveries').insertOne({ _id: 'dlv_2', org: 'acme', dedupe_key: 'ai-job/job' }),
      ).rejects.toThrow('E11000');

      await migrate(db, { contract: true });
      const contracted = await keysOf(db);
      expect(contracted.items).toContain('{"own":1}');
      await db.collection('items').dropIndex('of an operator');
      const fresh = client.db('migrations-fresh');
      await fresh.dropDatabase();
      await migrate(fresh);
      expect(await keysOf(db)).toEqual(await keysOf(fresh));
      await fresh.dropDatabase();
      await expect(
        old('deliveries').insertOne({ _id: 'dlv_2', org: 'acme', dedupe_key: 'ai-job/job' }),
      ).rejects.toThrow('E11000');
    });

    test('leave records that new code finds at every step, and that name their organisation in the end', async () => {
      await storeAsBefore();
      const jobsOf = (collections: Collections) => createAiJobs(collections, 1_000);
      const started = await connectCollections(uri, 'postback-test');
      expect(await jobsOf(started).hasResult('acme', 'job')).toBe(true);
      // A result that old code has stored is not stored again.
      await jobsOf(started).saveResult('acme', 'job', { output: '{}', original: null });
      await jobsOf(started).saveResult('acme', 'job of new code', { output: '{}', original: null });
      expect(await old('ai_job_results').countDocuments({ _id: 'job', org: { $exists: false } })).toBe(1);

      await migrate(db, { contract: true });
      for (const name of NAMED_COLLECTIONS) {
        const named = (await old(name).find().toArray()).map(({ org }) => org);
        expect([name, named.filter((org) => org !== 'acme')]).toEqual([name, name === 'ai_job_results' ? [''] : []]);
      }
      const restarted = await connectCollections(uri, 'postback-test');
      for (const collections of [started, restarted]) {
        expect(await jobsOf(collections).hasResult('acme', 'job')).toBe(true);
        expect(await jobsOf(collections).hasResult('acme', 'job of new code')).toBe(true);
        expect(await jobsOf(collections).hasResult('other', 'job')).toBe(false);
        await collections.mongoClient.close();
      }
      expect(restarted.recordsOf('acme')).toEqual({ org: 'acme' });
    });

    test('name the organisation of many records, and continue where a run has stopped', async () => {
      await old('crew_executions').insertMany([1, 2, 3].map((n) => ({ _id: `execution-${n}`, org: `org-${n}` })));
      await old('crew_steps').insertMany(
        Array.from({ length: 25 }, (_, n) => ({ _id: `step-${n}`, execution: `execution-${(n % 3) + 1}` })),
      );
      const positions: unknown[] = [];
      const stopped = { db, position: undefined, save: async (position: unknown) => void positions.push(position) };
      const failing = {
        ...stopped,
        save: async (position: unknown) => {
          positions.push(position);
          if (positions.length === 4) throw new Error('stopped');
        },
      };
      await expect(nameOrganisations(failing, 10)).rejects.toThrow('stopped');
      expect(await old('crew_steps').countDocuments({ org: null })).toBe(5);
      await nameOrganisations({ ...stopped, position: positions.at(-1) }, 10);
      expect(await old('crew_steps').countDocuments({ org: 'org-2' })).toBe(8);
      expect(await old('crew_steps').countDocuments({ org: null })).toBe(0);
    });
  });

  test('have numbers that rise by one', () => {
    expect(MIGRATIONS.map(({ number }) => number)).toEqual(MIGRATIONS.map((_, n) => n + 1));
  });
});
