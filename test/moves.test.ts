import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Binary, type Document } from 'mongodb';
import { cancelMove, type MoveStep, moveOrganisation, type Report } from '../cli/moves/move.js';
import { createSealer } from '../domain/sealing.js';
import type { Collections } from '../storage/collections.js';
import { createFiles } from '../storage/files/index.js';
import { pauseWork } from '../storage/moves/pause.js';
import { MOVED_COLLECTIONS, NOT_MOVED } from '../storage/moves/records.js';
import { createMoveStates } from '../storage/moves/states.js';
import { createDeliveries } from '../storage/webhooks/deliveries.js';
import { statusAndCode } from './support/client.js';
import { testCollections } from './support/mongodb.js';
import { clientOf } from './support/organisation.js';
import { databaseBeside, sharedProduct } from './support/product.js';
import { aiJobRecord, deliveryRecord, readyDatabase } from './support/records.js';

const ORG = 'move.me';
/** Names that a search by the beginning of an id, or by a pattern, would mix up with it. */
const OTHERS = ['move.me/too', 'move-me', 'move'];
const STEPS: MoveStep[] = ['close', 'drain', 'copy', 'switch', 'compare', 'open', 'done'];
const { mongodbUri, temporalAddress } = sharedProduct();

describe('the move of an organisation', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postback-moves-'));
  const keyOf = (byte: number) => Buffer.alloc(32, byte).toString('base64');
  const sealers = { source: createSealer(keyOf(1)), target: createSealer(keyOf(2)) };
  let source: Collections;
  let target: Collections;

  const settingsOf = (name: string, byte: number) => {
    const path = join(folder, `${name}.env`);
    const settings = {
      MONGODB_URI: databaseBeside(mongodbUri, `moves-${name}`),
      POSTBACK_SEALING_KEY: keyOf(byte),
      POSTBACK_DELIVERY_LANES: '2',
      TEMPORAL_ADDRESS: temporalAddress,
    };
    writeFileSync(
      path,
      Object.entries(settings)
        .map(([key, value]) => `${key}=${value}`)
        .join('\n'),
    );
    return path;
  };
  const paths = { from: settingsOf('source', 1), to: settingsOf('target', 2) };
  const options = { org: ORG, ...paths, settleMs: 0, waitMs: 60_000, skipIndex: true };
  const run = (report: Report = () => undefined) => moveOrganisation(options, report);

  beforeAll(async () => {
    source = await testCollections(databaseBeside(mongodbUri, 'moves-source'));
    target = await testCollections(databaseBeside(mongodbUri, 'moves-target'));
  });
  beforeEach(async () => {
    for (const { db } of [source, target]) {
      for (const { name } of await db.listCollections({ type: 'collection' }).toArray()) {
        if (name !== 'migrations') await db.collection(name).deleteMany({});
      }
    }
    await Promise.all([ORG, ...OTHERS].map((org, n) => seed(org, n)));
  });
  afterAll(async () => {
    await source.mongoClient.close();
    await target.mongoClient.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Stores a record of the organisation in each collection, and a file. @param n numbers the organisation */
  async function seed(org: string, n: number): Promise<void> {
    const id = (prefix: string) => `${prefix}_${n}`;
    const seal = (purpose: Parameters<typeof sealers.source.seal>[1]) =>
      new Binary(sealers.source.seal(`of ${org}`, purpose));
    const later = new Date(Date.now() + 3_600_000);
    const now = new Date();
    const database = { database_id: id('tnt') };
    const lane = deliveryRecord({ _id: id('dlv'), org, now, lane: 0 });
    const records: Record<string, Document> = {
      api_keys: { _id: id('key'), org, hash: id('hash') },
      databases: { ...readyDatabase(id('tnt'), org, 'library'), next_index: { generation: 2 } },
      items: {
        _id: id('itm'),
        org,
        ...database,
        id: 'a',
        indexing_status: 'completed',
        source: { kind: 'file', file_id: id('fil') },
      },
      removed_items: { _id: id('gone'), org, ...database, id: 'b', removal: null },
      chunks: { _id: id('chk'), ...database },
      entities: { _id: id('ent'), ...database },
      relations: { _id: id('rel'), ...database },
      feedback: { _id: id('fbk'), ...database, org },
      feedback_tallies: { _id: `${id('tnt')}/a`, ...database },
      connectors: {
        _id: id('con'),
        org,
        deleted_at: null,
        pending: false,
        sealed_credentials: seal(`connector-credentials/${id('con')}`),
      },
      connector_resources: { _id: id('res'), org, connector: id('con') },
      registrations: { _id: org, sealed_secret: seal(`webhook-signing-secret/${org}`) },
      crew_signing_secrets: { _id: org, sealed_secret: seal(`crew-signing-secret/${org}`) },
      payment_signing_secrets: {
        _id: org,
        previous_secrets: [{ sealed_secret: seal(`payment-signing-secret/${org}`) }],
      },
      signing_keys: { _id: id('sig'), org, current: true, sealed_private_key: seal(`job-signing-key/${id('sig')}`) },
      uploads: { _id: id('fil'), org, expires_at: later },
      ai_jobs: { ...aiJobRecord({ org, now }), _id: id('job'), status: 'success' },
      ai_job_results: { _id: id('job'), output: new Binary(Buffer.from('{}')) },
      crew_executions: { _id: id('exe'), org, status: 'pending_human_input', check_at: later },
      crew_steps: { _id: id('stp'), execution: id('exe') },
      crew_feedback: { _id: id('say'), execution: id('exe') },
      authentications: {
        _id: id('auth'),
        org,
        status: 'started',
        check_at: later,
        sealed_details: seal(`authentication-details/${id('auth')}`),
      },
      eligibility_data: { _id: id('auth'), org, sealed: seal(`eligibility-data/${id('auth')}`), remove_at: later },
      deliveries: lane,
      delivery_replays: { _id: id('rpl'), org, status: 'completed' },
      idempotency_keys: {
        _id: `${org}/POST /databases/${n}`,
        response: { sealed_body: seal(`idempotency/${org}/POST /databases/${n}`) },
      },
      model_tokens: { _id: `${org}/2026-11-23`, tokens: 7 },
    };
    expect(Object.keys(records).sort()).toEqual(Object.keys(MOVED_COLLECTIONS).sort());
    for (const [name, record] of Object.entries(records)) await source.db.collection(name).insertOne(record);
    const files = await createFiles(source);
    await files.write(id('fil'), { org, batch: id('bat') }, Readable.from([Buffer.from(`file of ${org}`)]));
  }

  const all = ({ db }: Collections, name: string) => db.collection(name).find().sort({ _id: 1 }).toArray();

  async function expectMoved(): Promise<void> {
    for (const name of Object.keys(MOVED_COLLECTIONS)) {
      expect([name, (await all(target, name)).length]).toEqual([name, 1]);
      expect([name, (await all(source, name)).length]).toEqual([name, 1 + OTHERS.length]);
    }
    const [delivery] = await createDeliveries(target).stale.list(new Date(Date.now() + 1_000), 10);
    expect(delivery).toBeUndefined();
    const queued = await target.deliveries.findOne({ lane: { $in: [0, 1] }, 'queue.receiver': ORG });
    expect(queued).toMatchObject({ status: 'pending', next_attempt_at: expect.any(Date) });
    expect(queued).not.toHaveProperty('paused');
    expect(await source.deliveries.findOne({ org: ORG })).toMatchObject({ next_attempt_at: null, lane: null });
    const registration = await target.registrations.findOne({ _id: ORG });
    const sealed = (registration as unknown as { sealed_secret: Binary }).sealed_secret;
    expect(sealers.target.open(sealed.value(), `webhook-signing-secret/${ORG}`)).toBe(`of ${ORG}`);
    expect(await buffer((await createFiles(target)).read('fil_0'))).toEqual(Buffer.from(`file of ${ORG}`));
    expect((await source.apiKeys.findOne({ org: ORG }))?.closed).toMatchObject({ state: 'moved' });
    expect(await target.apiKeys.findOne({ org: ORG })).not.toHaveProperty('closed');
    expect((await target.databases.findOne({}))?.next_index).toBeUndefined();
  }

  test('knows every collection', () => {
    const names = Object.values(source).flatMap((value) =>
      'collectionName' in value ? [String(value.collectionName)] : [],
    );
    expect(names.length).toBeGreaterThan(30);
    expect(names.sort()).toEqual([...Object.keys(MOVED_COLLECTIONS), ...Object.keys(NOT_MOVED)].sort());
  });

  test('takes every record and file of the organisation, and nothing of others', async () => {
    const moved = await run();
    expect(moved!.records).toEqual(Object.fromEntries(Object.keys(MOVED_COLLECTIONS).map((name) => [name, 1])));
    expect(moved!.files).toMatchObject({ missing: [] });
    await expectMoved();
    for (const org of OTHERS) expect(await source.apiKeys.findOne({ org })).not.toHaveProperty('closed');
  });

  test('continues after an interruption before any of its steps', async () => {
    const seen: MoveStep[] = [];
    for (const stop of STEPS) {
      const interrupted = run((step) => {
        seen.push(step);
        if (step === stop) throw new Error(`interrupted before ${stop}`);
      });
      await expect(interrupted).rejects.toThrow(`interrupted before ${stop}`);
    }
    expect([...new Set(seen)]).toEqual(STEPS);
    await run();
    await expectMoved();
    expect(await run()).toBeNull();
  });

  test('does not copy again what the target has changed since it serves the organisation', async () => {
    const interrupted = run((step) => {
      if (step === 'done') throw new Error('interrupted');
    });
    await expect(interrupted).rejects.toThrow('interrupted');
    await target.deliveries.updateOne({ org: ORG }, { $set: { status: 'delivered' } });
    await run();
    expect(await target.deliveries.findOne({ org: ORG })).toMatchObject({ status: 'delivered' });
  });

  test('takes what a late request has written after the copy', async () => {
    await run((step) => {
      if (step === 'switch')
        void source.removedItems.insertOne({
          _id: 'late',
          org: ORG,
          database_id: 'tnt_0',
          id: 'late',
          removal: null,
        } as never);
    });
    expect(await target.removedItems.countDocuments({ _id: 'late' })).toBe(1);
  });

  test('waits for work under way, and can be cancelled', async () => {
    await source.aiJobs.insertOne(aiJobRecord({ org: ORG, now: new Date() }));
    const before = await all(source, 'deliveries');
    await expect(moveOrganisation({ ...options, waitMs: 0 }, () => undefined)).rejects.toThrow(
      'work has not ended yet: 1 jobs',
    );
    expect((await source.apiKeys.findOne({ org: ORG }))?.closed).toEqual({ state: 'moving' });
    await source.aiJobs.deleteOne({ org: ORG, status: 'queued' });
    const interrupted = run((step) => {
      if (step === 'switch') throw new Error('interrupted');
    });
    await expect(interrupted).rejects.toThrow('interrupted');
    await cancelMove(options);
    expect(await source.apiKeys.findOne({ org: ORG })).not.toHaveProperty('closed');
    const unchecked = ({ check_at, lane, ...rest }: Document) => rest;
    expect((await all(source, 'deliveries')).map(unchecked)).toEqual(before.map(unchecked));
    for (const name of [...Object.keys(MOVED_COLLECTIONS), 'organisations', 'files.files', 'files.chunks']) {
      expect([name, await all(target, name)]).toEqual([name, []]);
    }
    await expect(cancelMove(options)).rejects.toThrow(`${ORG} does not move`);
  });

  test('goes on waiting for an attempt that ends while the other deliveries are paused', async () => {
    const attempted = { _id: 'dlv_0' };
    await source.deliveries.updateOne(attempted, {
      $set: { status: 'sweeping', claimed_until: new Date(Date.now() + 60_000) },
    });
    const deliveries = source.db.collection('deliveries');
    let updates = 0;
    const ending = Object.assign(Object.create(deliveries), {
      async updateMany(...args: Parameters<typeof deliveries.updateMany>) {
        const result = await deliveries.updateMany(...args);
        updates += 1;
        // After the update that pauses deliveries.
        if (updates === 2) await source.deliveries.updateOne(attempted, { $set: { status: 'failed' } });
        return result;
      },
    });
    const db = Object.assign(Object.create(source.db), {
      collection: (name: string) => (name === 'deliveries' ? ending : source.db.collection(name)),
    });
    expect(await pauseWork(db, ORG)).toEqual({ unpaused: 1 });
    expect(await pauseWork(source.db, ORG)).toEqual({ unpaused: 0 });
  });

  test('is refused when the cells do not fit', async () => {
    await target.registrations.insertOne({ _id: ORG } as never);
    await expect(run()).rejects.toThrow(`the target has ${ORG} already: its collection registrations has records`);
    await target.registrations.deleteMany({});
    await expect(moveOrganisation({ ...options, org: 'nobody' }, () => undefined)).rejects.toThrow(
      'no organisation nobody',
    );
    const wrongKey = settingsOf('source', 3);
    await expect(moveOrganisation({ ...options, from: wrongKey }, () => undefined)).rejects.toThrow(
      'secrets of the source are sealed with the key',
    );
    settingsOf('source', 1);
    const migrations = target.db.collection<{ _id: string; state: string }>('migrations');
    await migrations.insertOne({ _id: '9999', state: 'done' });
    await expect(run()).rejects.toThrow('source and target have run different migrations');
    await migrations.deleteOne({ _id: '9999' });
    await migrations.updateMany({}, { $set: { state: 'running' } });
    await expect(run()).rejects.toThrow('the database of the target is not migrated');
    await migrations.updateMany({}, { $set: { state: 'done' } });
    expect(await all(target, 'api_keys')).toEqual([]);
    expect(await source.apiKeys.findOne({ org: ORG })).not.toHaveProperty('closed');
  });
});

test('while an organisation moves it can be read, and changes are to be repeated later', async () => {
  const org = 'moves-now';
  const api = await clientOf(org);
  await api.createDatabase('library');
  const shared = await testCollections(mongodbUri);
  const states = createMoveStates(shared);
  try {
    const id = await states.close(org, 'closing');
    expect((await api.get('/databases')).status).toBe(200);
    expect((await api.post('/query', { database: 'library', query: 'parcels' })).status).toBe(200);
    const rejected = await api.post('/databases', { database: 'second' });
    expect([...statusAndCode(rejected), rejected.headers.get('Retry-After')]).toEqual([
      503,
      'ORGANISATION_MOVING',
      '30',
    ]);
    const note = JSON.stringify([{ id: 'a', text: 'A note.' }]);
    expect(statusAndCode(await api.ingest({ database: 'library', memories: note }))).toEqual([
      503,
      'ORGANISATION_MOVING',
    ]);
    await states.markMoved(org, id, 'moved');
    expect(statusAndCode(await api.get('/databases'))).toEqual([421, 'ORGANISATION_MOVED']);
    await states.cancel(org);
    expect((await api.post('/databases', { database: 'second' })).status).toBe(202);
  } finally {
    await shared.mongoClient.close();
  }
});
