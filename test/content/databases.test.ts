import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Answer, type Client, createClient } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { makeKey, sharedProduct, withDb } from '../support/product.js';
import { type Receiver, startReceiver } from '../support/receiver.js';

describe('databases', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const org = 'keeping-databases';
  let api: Client;
  let stranger: Client;
  let receiver: Receiver;

  beforeAll(async () => {
    api = createClient(apiUrl, (await makeKey(mongodbUri, org)).key);
    stranger = createClient(apiUrl, (await makeKey(mongodbUri, 'keeping-others')).key);
    receiver = await startReceiver();
    await api.post('/webhooks/indexing', { url: receiver.url });
  });
  afterAll(() => receiver.close());

  const code = (answer: Answer) => [answer.status, answer.body.error?.code];
  const gone = (name: string) =>
    eventually(`${name} gone`, async () => (await api.get(`/databases/status?database=${name}`)).status === 404);

  test('are listed newest first, page by page, and only to their organisation', async () => {
    const lister = createClient(apiUrl, (await makeKey(mongodbUri, 'listing-databases')).key);
    for (const name of ['one', 'two', 'three']) {
      await lister.post('/databases', {
        database: name,
        database_metadata_schema: [{ name: 'year', data_type: 'INT32' }],
      });
    }
    const first = (await lister.get('/databases?limit=2')).body.data;
    expect(first).toMatchObject({ count: 2, next_cursor: expect.any(String) });
    expect(first.databases.map(({ database }: { database: string }) => database)).toEqual(['three', 'two']);
    expect(first.databases[0].database_metadata_schema).toEqual([{ name: 'year', data_type: 'INT32' }]);
    const second = (await lister.get(`/databases?limit=2&cursor=${first.next_cursor}`)).body.data;
    expect(second).toMatchObject({ count: 1, next_cursor: null, databases: [{ database: 'one' }] });
    expect((await stranger.get('/databases')).body.data).toMatchObject({ databases: [], count: 0 });
    expect(code(await lister.get('/databases?cursor=nonsense'))).toEqual([400, 'INVALID_PARAMETERS']);
    expect(code(await lister.get('/databases?limit=101'))).toEqual([422, 'VALIDATION_ERROR']);
  });

  test('tell their collections, and how much is in them', async () => {
    await api.createDatabase('counted');
    const text = 'Grüße aus dem Leuchtturm.';
    const file = 'The lamp was lit at dusk.';
    await api.ingest({ database: 'counted', collection: 'notes', memories: JSON.stringify([{ id: 'm', text }]) });
    await api.ingest({ database: 'counted', document_metadata: '[{"id":"f"},{"id":"bad"}]' }, [
      { name: 'f.txt', content: file },
      { name: 'bad.pdf', content: '%PDF-1.7\nnothing of a PDF follows' },
    ]);
    for (const id of ['m', 'f', 'bad']) await api.ended('counted', id);
    expect((await api.get('/databases/counted/collections')).body.data).toEqual({
      database: 'counted',
      collections: [
        { collection: 'default', items: 2 },
        { collection: 'notes', items: 1 },
      ],
      count: 2,
    });
    expect((await api.get('/databases/counted/stats')).body.data).toEqual({
      database: 'counted',
      items: 3,
      by_status: { completed: 2, errored: 1 },
      by_type: { knowledge: 2, memory: 1 },
      chunks: 2,
      bytes: Buffer.byteLength(text) + file.length + '%PDF-1.7\nnothing of a PDF follows'.length,
    });
    for (const path of ['collections', 'stats']) {
      expect(code(await stranger.get(`/databases/counted/${path}`))).toEqual([404, 'DATABASE_NOT_FOUND']);
    }
  });

  test('are deleted with everything in them; deliveries stay, and the name is free again', async () => {
    await api.createDatabase('doomed');
    await api.ingest(
      {
        database: 'doomed',
        document_metadata: '[{"id":"going-file"}]',
        memories: '[{"id":"going-memory","text":"Ada met Grace in Paris."},{"id":"x","text":"Removed before."}]',
      },
      [{ name: 'f.txt', content: 'Ada Lovelace wrote to Charles Babbage in London.' }],
    );
    for (const id of ['going-file', 'going-memory', 'x']) await api.ended('doomed', id);
    await api.request('DELETE', '/context', { json: { database: 'doomed', ids: ['x'] } });
    const databaseId = await withDb(
      mongodbUri,
      async (db) => (await db.collection('databases').findOne({ org, name: 'doomed' }))!._id,
    );
    const left = () =>
      withDb(mongodbUri, async (db) => {
        const of = (name: string) => db.collection(name).countDocuments({ database_id: databaseId });
        return Promise.all(['items', 'chunks', 'entities', 'relations', 'removed_items'].map(of));
      });
    const files = () =>
      withDb(mongodbUri, (db) => db.collection('files.files').countDocuments({ 'metadata.org': org }));
    const filesBefore = await files();
    expect((await left())[0]).toBe(2);
    expect(code(await stranger.del('/databases/doomed'))).toEqual([404, 'DATABASE_NOT_FOUND']);

    const answer = await api.del('/databases/doomed');
    expect([answer.status, answer.body.data]).toEqual([202, { database: 'doomed', status: 'deleting' }]);
    await gone('doomed');
    expect(await left()).toEqual([0, 0, 0, 0, 0]);
    expect(await files()).toBe(filesBefore - 1);
    expect(code(await api.del('/databases/doomed'))).toEqual([404, 'DATABASE_NOT_FOUND']);
    const { deliveries } = (await api.get('/webhooks/indexing/deliveries?limit=100')).body.data;
    const told = deliveries.filter(({ doc_id }: { doc_id: string }) => ['going-file', 'going-memory'].includes(doc_id));
    expect(told).toHaveLength(2);

    await api.createDatabase('doomed');
    expect((await api.get('/databases/doomed/stats')).body.data).toMatchObject({ items: 0, chunks: 0 });
    const asked = await api.post('/query', { database: 'doomed', query: 'Ada' });
    expect(asked.body.data.chunks).toEqual([]);
  });

  test('say that they are being deleted, and take nothing any more', async () => {
    await api.createDatabase('leaving');
    // As a process leaves it that dies before it has started the workflow: only the sweep will go on.
    const later = new Date(Date.now() + 3_600_000);
    await withDb(mongodbUri, (db) =>
      db
        .collection('databases')
        .updateOne({ org, name: 'leaving' }, { $set: { status: 'deleting', updated_at: later } }),
    );
    expect((await api.get('/databases/status?database=leaving')).body.data).toMatchObject({
      status: 'deleting',
      infra: { ready_for_ingestion: false },
    });
    expect(code(await api.post('/databases', { database: 'leaving' }))).toEqual([409, 'DATABASE_ALREADY_EXISTS']);
    const refused = [
      await api.ingest({ database: 'leaving', memories: '[{"text":"x"}]' }),
      await api.post('/query', { database: 'leaving', query: 'x' }),
      await api.get('/context/list?database=leaving'),
      await api.get('/databases/leaving/stats'),
    ];
    for (const answer of refused) expect(code(answer)).toEqual([404, 'DATABASE_NOT_FOUND']);

    // An ingest that was under way when the database was deleted has written its item after that.
    await withDb(mongodbUri, async (db) => {
      const database = await db.collection('databases').findOne({ org, name: 'leaving' });
      const now = new Date();
      await db.collection<{ _id: string }>('items').insertOne({
        _id: 'itm_late',
        org,
        database_id: database!._id,
        database: 'leaving',
        collection: 'default',
        id: 'late',
        type: 'memory',
        version: 1,
        title: null,
        source: { kind: 'text', text: 'Too late.' },
        metadata: {},
        additional_metadata: {},
        batch: 'bat_late',
        indexing_status: 'queued',
        error_code: null,
        error_message: null,
        check_at: now,
        created_at: now,
        updated_at: now,
      } as { _id: string });
    });
    await eventually('the late item discarded', () =>
      withDb(mongodbUri, async (db) => (await db.collection('items').findOne({ org, id: 'late' })) === null),
    );
    await withDb(mongodbUri, (db) =>
      db.collection('databases').updateOne({ org, name: 'leaving' }, { $set: { updated_at: new Date(0) } }),
    );
    await gone('leaving');
  });

  test('deleted while items are being indexed, nothing of them is left', async () => {
    await api.createDatabase('busy');
    const ids = Array.from({ length: 12 }, (_, n) => `busy-${n}`);
    const text = 'Ada met Grace in Paris. '.repeat(2_000);
    await api.ingest({ database: 'busy', memories: JSON.stringify(ids.map((id) => ({ id, text }))) });
    await eventually('work under way', async () => {
      const { statuses } = (await api.get(`/context/status?database=busy&ids=${ids}`)).body.data;
      return statuses.some(({ indexing_status }: { indexing_status: string }) => indexing_status === 'processing');
    });
    const databaseId = await withDb(
      mongodbUri,
      async (db) => (await db.collection('databases').findOne({ org, name: 'busy' }))!._id,
    );
    expect((await api.del('/databases/busy')).status).toBe(202);
    await gone('busy');
    await eventually('nothing left, though workers were in the middle of it', () =>
      withDb(mongodbUri, async (db) => {
        const counts = ['items', 'chunks', 'entities', 'relations'].map((name) =>
          db.collection(name).countDocuments({ database_id: databaseId }),
        );
        return (await Promise.all(counts)).every((count) => count === 0);
      }),
    );
  });
});
