import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Document } from 'mongodb';
import { createItemCatalogue } from '../../storage/content/item-catalogue.js';
import type { ItemRecord } from '../../storage/content/items.js';
import { byOrganisation } from '../../storage/organisation-records.js';
import { type ApiResponse, statusAndCode } from '../support/client.js';
import { clientDuringTests, receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { connectMongo } from '../support/mongodb.js';
import { sharedProduct, withDb } from '../support/product.js';
import { reconcile } from '../support/reconcile.js';

describe('items', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const org = 'items';
  const api = clientDuringTests(org);
  const other = clientDuringTests('other-items');
  const receiver = receiverDuringTests(api);
  beforeAll(() => api.createDatabase('shelf'));

  const ingest = async (items: { id: string; text: string; metadata?: object }[], collection = 'default') => {
    const sent = await api.ingest({ database: 'shelf', collection, upsert: 'true', memories: JSON.stringify(items) });
    expect(sent.status).toBe(202);
    for (const { id } of items) await api.ended('shelf', id);
  };
  const remove = (ids: string[], more: object = {}) =>
    api.request('DELETE', '/context', { json: { database: 'shelf', ids, ...more } });
  const patch = (id: string, change: object) =>
    api.request('PATCH', `/context/${encodeURIComponent(id)}`, { json: { database: 'shelf', ...change } });
  const raw = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(apiUrl + path, { method, headers: { Authorization: `Bearer ${api.key}`, 'API-Version': '2', ...headers } });
  const idsOf = (response: ApiResponse) => response.body.data.items.map(({ id }: { id: string }) => id);
  /** Numbers of records of these items in MongoDB. */
  const recordsOf = (ids: string[]) =>
    withDb(mongodbUri, async (db) => {
      const database = await db.collection('databases').findOne({ org, name: 'shelf' });
      const filter = { database_id: database!._id, source_id: { $in: ids } };
      return Promise.all(['chunks', 'entities', 'relations'].map((name) => db.collection(name).countDocuments(filter)));
    });
  /** The version of an item, which is part of its workflow id. */
  const versionOf = (id: string) =>
    withDb(mongodbUri, async (db) => (await db.collection('items').findOne({ org, id }))?.version);

  test('are listed in pages, and filtered by collection, type and status', async () => {
    await api.createDatabase('listed');
    await api.ingest({
      database: 'listed',
      collection: 'a',
      memories: '[{"id":"m1","text":"One."},{"id":"m2","text":"Two."}]',
    });
    await api.ingest(
      {
        database: 'listed',
        collection: 'b',
        document_metadata: '[{"id":"bad"}]',
        app_knowledge: '[{"id":"k1","text":"Three."}]',
      },
      [{ name: 'bad.pdf', content: '%PDF-1.7\nnothing of a PDF follows' }],
    );
    for (const id of ['m1', 'm2', 'bad', 'k1']) await api.ended('listed', id);
    const list = (query: string) => api.get(`/context/list?database=listed${query}`);
    expect(idsOf(await list('')).sort()).toEqual(['bad', 'k1', 'm1', 'm2']);
    expect(idsOf(await list('&collection=a')).sort()).toEqual(['m1', 'm2']);
    expect(idsOf(await list('&type=knowledge')).sort()).toEqual(['bad', 'k1']);
    expect(idsOf(await list('&status=errored'))).toEqual(['bad']);
    expect(idsOf(await list('&status=success')).sort()).toEqual(['k1', 'm1', 'm2']);
    expect(idsOf(await list('&status=completed&type=knowledge&collection=b'))).toEqual(['k1']);
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: ApiResponse = await list(`&limit=1${cursor && `&cursor=${cursor}`}`);
      const { data } = page.body;
      expect(data.count).toBe(1);
      seen.push(data.items[0].id);
      cursor = data.next_cursor;
    }
    expect(seen).toEqual(idsOf(await list('')));
    expect(seen).toHaveLength(4);
    expect(statusAndCode(await list('&cursor=eHg'))).toEqual([400, 'INVALID_PARAMETERS']);
    expect(statusAndCode(await list('&status=unknown'))).toEqual([400, 'INVALID_PARAMETERS']);
    expect(statusAndCode(await other.get('/context/list?database=listed'))).toEqual([404, 'DATABASE_NOT_FOUND']);
  });

  test('a page of a list is read in index order with every filter', async () => {
    const client = await connectMongo(mongodbUri, { monitorCommands: true });
    const commands: Document[] = [];
    client.on('commandStarted', ({ commandName, command }) => commandName === 'find' && commands.push(command));
    const catalogue = createItemCatalogue({
      mongoClient: client,
      items: byOrganisation(client.db().collection<ItemRecord>('items')),
      now: () => new Date(),
    });
    for (const filter of [
      {},
      { collection: 'a' },
      { type: 'memory' as const },
      { collection: 'a', status: 'errored' as const },
    ]) {
      await catalogue.list({ _id: 'tnt_explained', org: 'explained' }, filter, { from: 'itm_x', limit: 20 });
    }
    expect(commands).toHaveLength(4);
    for (const { find, filter, sort, hint, limit } of commands) {
      const { queryPlanner } = await client.db().command({ explain: { find, filter, sort, hint, limit } });
      const stages = [...JSON.stringify(queryPlanner.winningPlan).matchAll(/"stage":"(\w+)"/g)].map(
        ([, stage]) => stage,
      );
      expect(stages).toContain('IXSCAN');
      expect(stages).not.toContain('SORT');
    }
  });

  test('the status without ids is that of the newest items; ids without any id are rejected', async () => {
    await api.createDatabase('newest');
    for (const id of ['first', 'second']) {
      await api.ingest({ database: 'newest', collection: id, memories: JSON.stringify([{ id, text: 'A lamp.' }]) });
    }
    const newest = async (query: string) =>
      (await api.get(`/context/status?database=newest${query}`)).body.data.statuses.map(
        (item: { id: string }) => item.id,
      );
    expect(await newest('')).toEqual(['second', 'first']);
    expect(await newest('&collection=first')).toEqual(['first']);
    for (const ids of ['', ',', ',,']) {
      expect(statusAndCode(await api.get(`/context/status?database=newest&ids=${ids}`))).toEqual([
        400,
        'INVALID_PARAMETERS',
      ]);
    }
  });

  test('an item is returned with its extracted text, one page at a time', async () => {
    const text = 'The keeper lit the lamp in the evening. '.repeat(200);
    await ingest([{ id: 'a/b ü', text, metadata: { year: 1879 } }], 'log');
    const path = `/context/${encodeURIComponent('a/b ü')}?database=shelf`;
    const first = (await api.get(`${path}&limit=2`)).body.data;
    expect(first).toMatchObject({
      id: 'a/b ü',
      collection: 'log',
      type: 'memory',
      indexing_status: 'completed',
      metadata: { year: 1879 },
      source: { kind: 'text', size: text.length },
      chunks: [{ text: expect.stringContaining('The keeper lit') }, {}],
      next_cursor: expect.any(String),
    });
    const rest = (await api.get(`${path}&limit=100&cursor=${first.next_cursor}`)).body.data;
    const all = (await api.get(`${path}&limit=100`)).body.data;
    expect([...first.chunks, ...rest.chunks]).toEqual(all.chunks);
    expect([rest.next_cursor, all.next_cursor]).toEqual([null, null]);
    expect(statusAndCode(await api.get('/context/unknown?database=shelf'))).toEqual([404, 'SOURCE_NOT_FOUND']);
    expect(statusAndCode(await api.get(`${path}&collection=elsewhere`))).toEqual([404, 'SOURCE_NOT_FOUND']);
    expect(statusAndCode(await other.get(path))).toEqual([404, 'DATABASE_NOT_FOUND']);
  });

  test('the original can be downloaded, completely or a range of it', async () => {
    const pdf = readFileSync('examples/lighthouse-history.pdf');
    await api.ingest({ database: 'shelf', document_metadata: '[{"id":"pdf"}]' }, [
      { name: 'Leuchtturm 灯台.pdf', content: pdf },
    ]);
    await api.ended('shelf', 'pdf');
    const path = '/context/pdf/content?database=shelf';
    const complete = await raw(path);
    expect(Buffer.from(await complete.arrayBuffer()).equals(pdf)).toBe(true);
    expect(Object.fromEntries(complete.headers)).toMatchObject({
      'content-type': 'application/pdf',
      'content-length': String(pdf.length),
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'content-disposition': expect.stringMatching(
        /^attachment; .*filename\*=UTF-8''Leuchtturm%20%E7%81%AF%E5%8F%B0\.pdf/,
      ),
    });
    const etag = complete.headers.get('etag')!;
    const ranges: [string, Record<string, string>, number, Buffer][] = [
      ['bytes=0-9', {}, 206, pdf.subarray(0, 10)],
      ['bytes=100-', {}, 206, pdf.subarray(100)],
      ['bytes=-7', {}, 206, pdf.subarray(-7)],
      ['bytes=5-5', { 'If-Range': etag }, 206, pdf.subarray(5, 6)],
      ['bytes=5-5', { 'If-Range': '"of another version"' }, 200, pdf],
      ['bytes=0-1,4-5', {}, 200, pdf],
      ['lines=0-1', {}, 200, pdf],
    ];
    for (const [range, more, status, bytes] of ranges) {
      const part = await raw(path, { Range: range, ...more });
      expect([range, part.status]).toEqual([range, status]);
      expect(Buffer.from(await part.arrayBuffer()).equals(bytes)).toBe(true);
      if (status === 206)
        expect(part.headers.get('content-range')).toMatch(new RegExp(`^bytes \\d+-\\d+/${pdf.length}$`));
    }
    const beyond = await raw(path, { Range: `bytes=${pdf.length}-` });
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, `bytes */${pdf.length}`]);
    expect(await beyond.json()).toMatchObject({ error: { code: 'RANGE_NOT_SATISFIABLE' } });
    const head = await raw(path, {}, 'HEAD');
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(pdf.length)]);

    await ingest([{ id: 'words', text: 'Grüße!' }]);
    const text = await raw('/context/words/content?database=shelf');
    expect([await text.text(), text.headers.get('content-type')]).toEqual(['Grüße!', 'text/plain; charset=utf-8']);
    const part = await raw('/context/words/content?database=shelf', { Range: 'bytes=2-3' });
    expect(await part.text()).toBe('ü');
    expect((await raw('/context/none/content?database=shelf')).status).toBe(404);
  });

  test('the download of a file that cannot be read is an error', async () => {
    await api.ingest({ database: 'shelf', document_metadata: '[{"id":"lost"}]' }, [
      { name: 'a.txt', content: 'Lost.' },
    ]);
    await api.ended('shelf', 'lost');
    await withDb(mongodbUri, async (db) => {
      const item = await db.collection('items').findOne({ org, id: 'lost' });
      await db.collection('files.files').deleteOne({ filename: item!.source.file_id });
    });
    const response = await raw('/context/lost/content?database=shelf');
    expect([response.status, await response.json()]).toMatchObject([500, { error: { code: 'INTERNAL_ERROR' } }]);
    expect(response.headers.get('content-disposition')).toBeNull();
  });

  test('relations are listed for all items or some of them', async () => {
    await api.createDatabase('graph');
    await api.ingest({
      database: 'graph',
      memories: JSON.stringify([
        {
          id: 'rail',
          text: 'Werner von Siemens presented an electric railway in Berlin. Ada Lovelace met Charles Babbage in London.',
        },
        { id: 'tea', text: 'Marie Curie worked with Pierre Curie in Paris.' },
      ]),
    });
    for (const id of ['rail', 'tea']) await api.ended('graph', id);
    const all = (await api.get('/context/relations?database=graph&limit=100')).body.data;
    expect(new Set(all.relations.map(({ source_id }: { source_id: string }) => source_id))).toEqual(
      new Set(['rail', 'tea']),
    );
    const some = (await api.get('/context/relations?database=graph&id=tea')).body.data;
    expect(some.relations).toEqual(all.relations.filter(({ source_id }: { source_id: string }) => source_id === 'tea'));
    await api.ingest({
      database: 'graph',
      collection: 'apart',
      memories: '[{"id":"apart","text":"Emil Berliner worked with Alexander Bell in Washington."}]',
    });
    await api.ended('graph', 'apart');
    const sources = async (query: string) => {
      const { relations } = (await api.get(`/context/relations?database=graph&limit=100${query}`)).body.data;
      return [...new Set(relations.map(({ source_id }: { source_id: string }) => source_id))].sort();
    };
    expect(await sources('&collection=default')).toEqual(['rail', 'tea']);
    expect(await sources('&collection=apart')).toEqual(['apart']);
    expect(await sources('&collection=apart&ids=tea,apart')).toEqual(['apart']);
    expect(statusAndCode(await api.get('/context/relations?database=graph&collection=apart&id=tea'))).toEqual([
      404,
      'SOURCE_NOT_FOUND',
    ]);
    await remove(['apart'], { database: 'graph' });
    expect(some.relations[0]).toMatchObject({ evidence: [{ sentence: expect.stringContaining('Curie') }] });
    const seen: unknown[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: ApiResponse = await api.get(
        `/context/relations?database=graph&limit=1${cursor && `&cursor=${cursor}`}`,
      );
      const { data } = page.body;
      seen.push(...data.relations);
      cursor = data.next_cursor;
    }
    expect(seen).toEqual(all.relations);
    expect(statusAndCode(await api.get('/context/relations?database=graph&id=none'))).toEqual([
      404,
      'SOURCE_NOT_FOUND',
    ]);
  });

  test('entities are listed for the items that a request names', async () => {
    await api.createDatabase('names');
    const text = 'Marie Curie worked with Pierre Curie in Paris. Marie Curie was born in Warsaw.';
    await api.ingest({ database: 'names', memories: JSON.stringify([{ id: 'curie', text }]) });
    await api.ended('names', 'curie');
    const { entities } = (await api.get('/context/entities?database=names&id=curie')).body.data;
    expect(entities).toContainEqual({
      name: 'Marie Curie',
      type: 'person',
      collection: 'default',
      source_id: 'curie',
      mentions: [
        { chunk_id: expect.any(String), sentence: 'Marie Curie worked with Pierre Curie in Paris.' },
        { chunk_id: expect.any(String), sentence: 'Marie Curie was born in Warsaw.' },
      ],
    });
    const first = (await api.get('/context/entities?database=names&ids=curie&limit=1')).body.data;
    const next = `/context/entities?database=names&ids=curie&limit=100&cursor=${first.next_cursor}`;
    expect([...first.entities, ...(await api.get(next)).body.data.entities]).toEqual(entities);
    expect(statusAndCode(await api.get('/context/entities?database=names'))).toEqual([400, 'INVALID_PARAMETERS']);
    expect(statusAndCode(await api.get('/context/entities?database=names&id=none'))).toEqual([404, 'SOURCE_NOT_FOUND']);
    expect(statusAndCode(await other.get('/context/entities?database=names&id=curie'))).toEqual([
      404,
      'DATABASE_NOT_FOUND',
    ]);
  });

  test('the chunks of an item are its text, without what they repeat of each other', async () => {
    const text = Array.from({ length: 80 }, (_, n) => `Keeper ${n} lit the lamp at dusk on that day.`).join(' ');
    await ingest([{ id: 'overlapping', text }]);
    const { chunks } = (await api.get('/context/overlapping?database=shelf&limit=100')).body.data;
    const overlaps = chunks.map(({ overlap = 0 }: { overlap?: number }) => overlap);
    expect(overlaps[0]).toBe(0);
    expect(overlaps[1]).toBeGreaterThan(0);
    const parts = chunks.map((chunk: { text: string }, n: number) => chunk.text.slice(overlaps[n]));
    expect(parts.join('')).toBe(text);
  });

  test('deleted items are unavailable at once, and removed completely', async () => {
    await ingest([
      { id: 'd1', text: 'Ada Lovelace met Charles Babbage in London.' },
      { id: 'd2', text: 'A zeppelin over the harbour.' },
      { id: 'stays', text: 'A zeppelin that stays.' },
    ]);
    await api.ingest({ database: 'shelf', document_metadata: '[{"id":"d3"}]' }, [
      { name: 'z.txt', content: 'Zeppelin file.' },
    ]);
    await api.ended('shelf', 'd3');
    const fileOf = () =>
      withDb(mongodbUri, async (db) => {
        const [latest] = await db
          .collection('files.files')
          .find({ 'metadata.org': org })
          .sort({ uploadDate: -1 })
          .limit(1)
          .toArray();
        return latest;
      });
    const file = await fileOf();
    const response = await remove(['d1', 'd2', 'd3', 'unknown']);
    expect([response.status, response.body.data]).toEqual([
      200,
      { deleted: ['d1', 'd2', 'd3'], not_found: ['unknown'], deleted_count: 3 },
    ]);
    expect(statusAndCode(await api.get('/context/d1?database=shelf'))).toEqual([404, 'SOURCE_NOT_FOUND']);
    expect(statusAndCode(await api.get('/context/status?database=shelf&id=d1'))).toEqual([404, 'FILE_NOT_FOUND']);
    expect(await api.idsFound('shelf', 'zeppelin', { query_by: 'text' })).toEqual(['stays']);
    await eventually('records removed', async () =>
      (await recordsOf(['d1', 'd2', 'd3'])).every((count) => count === 0),
    );
    await eventually('file removed', () =>
      withDb(mongodbUri, async (db) => (await db.collection('files.files').findOne({ _id: file!._id })) === null),
    );
    expect(statusAndCode(await remove(['d1']))).toEqual([404, 'SOURCE_NOT_FOUND']);
    expect(
      statusAndCode(await other.request('DELETE', '/context', { json: { database: 'shelf', ids: ['stays'] } })),
    ).toEqual([404, 'DATABASE_NOT_FOUND']);
    expect(statusAndCode(await remove(['stays'], { collection: 'elsewhere' }))).toEqual([404, 'SOURCE_NOT_FOUND']);
    expect(statusAndCode(await remove([]))).toEqual([400, 'INVALID_PARAMETERS']);
    expect((await api.del('/context?database=shelf&ids=stays')).body.data).toMatchObject({ deleted: ['stays'] });
  });

  test('a deleted id can be used again, with the next version, so that workflow ids are unique', async () => {
    for (const [n, life] of ['first', 'second', 'third'].entries()) {
      if (n > 0) await remove(['again']);
      await ingest([{ id: 'again', text: `The ${life} life.` }]);
      expect(await versionOf('again')).toBe(n + 1);
      // A version that ends before the one before it is announced is announced in its place.
      await eventually(`${n + 1} announcements`, () => {
        const announced = receiver.received
          .filter(({ json }) => json.id === 'again')
          .map(({ json }) => json.delivery_id);
        return new Set(announced).size === n + 1;
      });
    }
    const { chunks } = (await api.post('/query', { database: 'shelf', query: 'life', ids: ['again'] })).body.data;
    expect(chunks.map(({ text }: { text: string }) => text)).toEqual(['The third life.']);
  });

  test('an item with the id of a deleted item does not inherit its ratings', async () => {
    await ingest([{ id: 'rated', text: 'A book about ropes.' }]);
    const item = (await withDb(mongodbUri, (db) => db.collection('items').findOne({ id: 'rated' })))!;
    const tallies = () =>
      withDb(mongodbUri, (db) =>
        db.collection('feedback_tallies').countDocuments({ _id: item._id, count: { $gt: 0 } }),
      );
    const rate = () => api.post('/feedback', { database: 'shelf', source_id: 'rated', rating: -1 });
    expect((await rate()).status).toBe(201);
    expect(await tallies()).toBe(1);
    await api.request('DELETE', '/context', { json: { database: 'shelf', ids: ['rated'] } });
    expect(await tallies()).toBe(0);
    await ingest([{ id: 'rated', text: 'Another book about ropes.' }]);
    expect((await rate()).status).toBe(201);
    expect(await tallies()).toBe(1);
  });

  test('an item in progress is not changed, 409 with Retry-After, but deleted: it ends with E2005', async () => {
    await withDb(mongodbUri, async (db) => {
      const now = new Date(Date.now() + 3_600_000);
      const database = await db.collection('databases').findOne({ org, name: 'shelf' });
      await db.collection<{ _id: string }>('items').insertOne({
        _id: 'itm_underway',
        org,
        database_id: database!._id,
        database: 'shelf',
        collection: 'default',
        id: 'underway',
        type: 'memory',
        version: 1,
        served_version: null,
        title: null,
        source: { kind: 'text', text: 'Under way.' },
        metadata: {},
        additional_metadata: {},
        batch: 'bat_underway',
        indexing_status: 'processing',
        error_code: null,
        error_message: null,
        check_at: now,
        created_at: now,
        updated_at: now,
      } as { _id: string });
    });
    const patched = await patch('underway', { metadata: { a: 1 } });
    expect(statusAndCode(patched)).toEqual([409, 'SOURCE_PROCESSING']);
    expect(Number(patched.headers.get('retry-after'))).toBeGreaterThan(0);
    for (const path of ['underway?', 'underway/content?', 'relations?id=underway&']) {
      const response = await api.get(`/context/${path}database=shelf`);
      expect(statusAndCode(response)).toEqual([409, 'SOURCE_PROCESSING']);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect((await remove(['underway'])).body.data).toMatchObject({ deleted: ['underway'] });
    const { json } = await receiver.waitFor('the webhook', ({ json }) => json.id === 'underway');
    expect(json).toMatchObject({ status: 'errored', error_code: 'E2005', database: 'shelf' });
    expect((await api.get('/context/underway?database=shelf')).status).toBe(404);
  });

  test('the reconciler starts a removal whose process died before it started the workflow', async () => {
    await ingest([{ id: 'forgotten', text: 'A forgotten note.' }]);
    await withDb(mongodbUri, async (db) => {
      const item = await db.collection('items').findOne({ org, id: 'forgotten' });
      await db.collection<{ _id: string }>('removed_items').insertOne({
        _id: String(item!._id),
        org,
        database_id: item!.database_id,
        id: 'forgotten',
        version: 1,
        removal: 'rmv_forgotten',
        files: [],
        check_at: new Date(0),
      } as { _id: string });
      await db.collection('items').deleteOne({ org, id: 'forgotten' });
    });
    await reconcile(sharedProduct());
    await eventually('records removed', async () => (await recordsOf(['forgotten'])).every((count) => count === 0));
  });
});
