import { describe, expect, test } from '@jest/globals';
import { scan, scannedPdf } from '../fixtures/scanned-files.js';
import { statusAndCode } from '../support/client.js';
import { clientDuringTests, receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { clientOf, registeredReceiver } from '../support/organisation.js';
import { sharedProduct, withDb } from '../support/product.js';
import { reconcile } from '../support/reconcile.js';

describe('databases', () => {
  const { mongodbUri } = sharedProduct();
  const org = 'databases';
  const api = clientDuringTests(org);
  const other = clientDuringTests('databases-other');
  receiverDuringTests(api);

  const deleted = (name: string) =>
    eventually(`${name} deleted`, async () => (await api.get(`/databases/status?database=${name}`)).status === 404);

  test('are listed newest first, in pages, and only to their organisation', async () => {
    const lister = await clientOf('databases-list');
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
    expect((await other.get('/databases')).body.data).toMatchObject({ databases: [], count: 0 });
    expect(statusAndCode(await lister.get('/databases?cursor=nonsense'))).toEqual([400, 'INVALID_PARAMETERS']);
    expect(statusAndCode(await lister.get('/databases?limit=101'))).toEqual([400, 'INVALID_PARAMETERS']);
  });

  test('take a metadata field that is given twice alike, and reject one that contradicts itself', async () => {
    const year = { name: 'year', data_type: 'INT32' };
    const create = (database: string, ...fields: object[]) =>
      api.post('/databases', { database, database_metadata_schema: fields });
    expect((await create('alike', year, year)).status).toBe(202);
    const contradiction = await create('contradiction', year, { ...year, data_type: 'BOOL' });
    expect(statusAndCode(contradiction)).toEqual([409, 'METADATA_FIELD_CONFLICT']);
    expect((await api.get('/databases/status?database=contradiction')).status).toBe(404);
  });

  test('have collections and statistics', async () => {
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
      expect(statusAndCode(await other.get(`/databases/counted/${path}`))).toEqual([404, 'DATABASE_NOT_FOUND']);
    }
  });

  test('that are deleted end their items in progress with E2005, each with its webhook', async () => {
    const owner = await clientOf('databases-interrupted');
    const receiver = await registeredReceiver(owner);
    await owner.createDatabase('busy');
    const page = await scan(['This page is read for long', 'The lamp was lit at dusk']);
    const ids = ['one', 'two', 'three'];
    await owner.ingest(
      { database: 'busy', document_metadata: JSON.stringify(ids.map((id) => ({ id }))) },
      ids.map((id) => ({ name: `${id}.pdf`, content: scannedPdf(Array(10).fill(page)) })),
    );
    expect((await owner.request('DELETE', '/databases/busy')).status).toBe(202);
    for (const id of ids) {
      const { json } = await receiver.waitFor(`the webhook of ${id}`, (request) => request.json.id === id);
      expect(json).toMatchObject({ status: 'errored', error_code: 'E2005', database: 'busy', version: 1 });
    }
    await receiver.close();
  });

  test('are deleted with their contents; deliveries are kept, and the name can be used again', async () => {
    await api.createDatabase('doomed');
    await api.ingest(
      {
        database: 'doomed',
        document_metadata: '[{"id":"deleted-file"}]',
        memories: '[{"id":"deleted-memory","text":"Ada met Grace in Paris."},{"id":"x","text":"Removed before."}]',
      },
      [{ name: 'f.txt', content: 'Ada Lovelace wrote to Charles Babbage in London.' }],
    );
    for (const id of ['deleted-file', 'deleted-memory', 'x']) await api.ended('doomed', id);
    await api.request('DELETE', '/context', { json: { database: 'doomed', ids: ['x'] } });
    const databaseId = await withDb(
      mongodbUri,
      async (db) => (await db.collection('databases').findOne({ org, name: 'doomed' }))!._id,
    );
    const remaining = () =>
      withDb(mongodbUri, async (db) => {
        const count = (name: string) => db.collection(name).countDocuments({ database_id: databaseId });
        return Promise.all(['items', 'chunks', 'entities', 'relations', 'removed_items'].map(count));
      });
    const files = () =>
      withDb(mongodbUri, (db) => db.collection('files.files').countDocuments({ 'metadata.org': org }));
    const filesBefore = await files();
    expect((await remaining())[0]).toBe(2);
    expect(statusAndCode(await other.del('/databases/doomed'))).toEqual([404, 'DATABASE_NOT_FOUND']);

    const response = await api.del('/databases/doomed');
    expect([response.status, response.body.data]).toEqual([202, { database: 'doomed', status: 'deleting' }]);
    await deleted('doomed');
    expect(await remaining()).toEqual([0, 0, 0, 0, 0]);
    expect(await files()).toBe(filesBefore - 1);
    expect(statusAndCode(await api.del('/databases/doomed'))).toEqual([404, 'DATABASE_NOT_FOUND']);
    const { deliveries } = (await api.get('/webhooks/indexing/deliveries?limit=100')).body.data;
    const ofItems = deliveries.filter(({ doc_id }: { doc_id: string }) =>
      ['deleted-file', 'deleted-memory'].includes(doc_id),
    );
    expect(ofItems).toHaveLength(2);

    await api.createDatabase('doomed');
    expect((await api.get('/databases/doomed/stats')).body.data).toMatchObject({ items: 0, chunks: 0 });
    const results = await api.post('/query', { database: 'doomed', query: 'Ada' });
    expect(results.body.data.chunks).toEqual([]);
  });

  test('show that they are being deleted, and reject requests', async () => {
    await api.createDatabase('deleting');
    // The record of a process that died before it started the workflow: the reconciler starts it.
    const later = new Date(Date.now() + 3_600_000);
    await withDb(mongodbUri, (db) =>
      db
        .collection('databases')
        .updateOne({ org, name: 'deleting' }, { $set: { status: 'deleting', updated_at: later } }),
    );
    expect((await api.get('/databases/status?database=deleting')).body.data).toMatchObject({
      status: 'deleting',
      infra: { ready_for_ingestion: false },
    });
    expect(statusAndCode(await api.post('/databases', { database: 'deleting' }))).toEqual([
      409,
      'DATABASE_ALREADY_EXISTS',
    ]);
    const rejected = [
      await api.ingest({ database: 'deleting', memories: '[{"text":"x"}]' }),
      await api.post('/query', { database: 'deleting', query: 'x' }),
      await api.get('/context/list?database=deleting'),
      await api.get('/databases/deleting/stats'),
    ];
    for (const response of rejected) expect(statusAndCode(response)).toEqual([404, 'DATABASE_NOT_FOUND']);

    // An ingest that was running during the deletion writes its item afterwards.
    await withDb(mongodbUri, async (db) => {
      const database = await db.collection('databases').findOne({ org, name: 'deleting' });
      const now = new Date();
      await db.collection<{ _id: string }>('items').insertOne({
        _id: 'itm_late',
        org,
        database_id: database!._id,
        database: 'deleting',
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
        check_at: new Date(0),
        created_at: now,
        updated_at: now,
      } as { _id: string });
    });
    await reconcile(sharedProduct());
    await eventually('the late item removed', () =>
      withDb(mongodbUri, async (db) => (await db.collection('items').findOne({ org, id: 'late' })) === null),
    );
    await withDb(mongodbUri, (db) =>
      db.collection('databases').updateOne({ org, name: 'deleting' }, { $set: { updated_at: new Date(0) } }),
    );
    await reconcile(sharedProduct());
    await deleted('deleting');
  });

  test('are deleted completely even while items are being indexed', async () => {
    await api.createDatabase('busy');
    const ids = Array.from({ length: 12 }, (_, n) => `busy-${n}`);
    const text = 'Ada met Grace in Paris. '.repeat(2_000);
    await api.ingest({ database: 'busy', memories: JSON.stringify(ids.map((id) => ({ id, text }))) });
    await eventually('an item in progress', async () => {
      const { statuses } = (await api.get(`/context/status?database=busy&ids=${ids}`)).body.data;
      return statuses.some(({ indexing_status }: { indexing_status: string }) => indexing_status !== 'queued');
    });
    const databaseId = await withDb(
      mongodbUri,
      async (db) => (await db.collection('databases').findOne({ org, name: 'busy' }))!._id,
    );
    expect((await api.del('/databases/busy')).status).toBe(202);
    await deleted('busy');
    await eventually('nothing remains', () =>
      withDb(mongodbUri, async (db) => {
        const counts = ['items', 'chunks', 'entities', 'relations'].map((name) =>
          db.collection(name).countDocuments({ database_id: databaseId }),
        );
        return (await Promise.all(counts)).every((count) => count === 0);
      }),
    );
  });
});
