import { beforeAll, describe, expect, test } from '@jest/globals';
import { statusAndCode } from '../support/client.js';
import { clientDuringTests, receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { makeKey, sharedProduct, withDb } from '../support/product.js';

describe('the same id in two collections', () => {
  const { mongodbUri } = sharedProduct();
  const org = 'same-ids';
  const database = 'users';
  const api = clientDuringTests(org);
  const receiver = receiverDuringTests(api);

  const send = (collection: string, memory: object, more: Record<string, string> = {}) =>
    api.ingest({ database, collection, memories: JSON.stringify([memory]), ...more });
  const get = (path: string) => api.get(path);
  const text = async (id: string, collection: string) =>
    (await get(`/context/${id}?database=${database}&collection=${collection}`)).body.data?.chunks?.[0]?.text;
  const completed = (id: string, collection: string) =>
    eventually(`${collection}/${id} completed`, async () => {
      const { body } = await get(`/context/status?database=${database}&collection=${collection}&id=${id}`);
      return body.data?.statuses[0].indexing_status === 'completed';
    });
  const query = async (body: object): Promise<{ collection: string; text: string; chunk_id: string }[]> =>
    (await api.post('/query', { database, ...body })).body.data.chunks;

  beforeAll(async () => {
    await api.createDatabase(database);
    await send('alice', { id: 'profile', text: 'Ada Lovelace met Charles Babbage. She likes sailing.' });
    await completed('profile', 'alice');
    await send(
      'bob',
      { id: 'profile', text: 'Marie Curie worked with Pierre Curie. She likes skating.' },
      { upsert: 'true' },
    );
    await completed('profile', 'bob');
  });

  test('is two items: neither replaces the other, and 409 means the same collection', async () => {
    expect([await text('profile', 'alice'), await text('profile', 'bob')]).toEqual([
      expect.stringContaining('sailing'),
      expect.stringContaining('skating'),
    ]);
    expect((await send('carol', { id: 'profile', text: 'Carol likes both.' })).status).toBe(202);
    await completed('profile', 'carol');
    expect(statusAndCode(await send('alice', { id: 'profile', text: 'Somebody else.' }))).toEqual([
      409,
      'SOURCE_ALREADY_EXISTS',
    ]);
    const { items } = (await get(`/context/list?database=${database}`)).body.data;
    expect(items.map(({ collection }: { collection: string }) => collection).sort()).toEqual(['alice', 'bob', 'carol']);
  });

  test('is notified with its collection, and each workflow has it', async () => {
    const notified = await eventually('both webhooks', () => {
      const found = receiver.received.filter(({ json }) => json.id === 'profile').map(({ json }) => json);
      // That of Carol may come before either.
      return ['alice', 'bob'].every((name) => found.some(({ collection }) => collection === name)) && found;
    });
    expect(notified.map(({ collection, sub_tenant_id }) => [collection, sub_tenant_id])).toEqual(
      expect.arrayContaining([
        ['alice', 'alice'],
        ['bob', 'bob'],
      ]),
    );
    const keys = await withDb(mongodbUri, (db) => db.collection('deliveries').distinct('dedupe_key', { org }));
    expect(keys.length).toBeGreaterThanOrEqual(2);
  });

  test('is 400 with the names of the collections on every route that takes an id without a collection', async () => {
    const json = { database, metadata: { seen: true } };
    const responses = [
      await get(`/context/status?database=${database}&id=profile`),
      await get(`/context/profile?database=${database}`),
      await get(`/context/profile/content?database=${database}`),
      await get(`/context/relations?database=${database}&ids=profile`),
      await api.request('PATCH', '/context/profile', { json }),
      await api.request('DELETE', '/context', { json: { database, ids: ['profile'] } }),
      await api.post('/query', { database, query: 'likes', ids: ['profile'] }),
      await api.post('/feedback', { database, source_id: 'profile', rating: 1 }),
    ];
    for (const response of responses) {
      expect(statusAndCode(response)).toEqual([400, 'INVALID_PARAMETERS']);
      expect(response.body.error?.message).toMatch(/"alice".*"bob"/);
    }
  });

  test('means the item in the collection `default` where one exists, and the only item of an id', async () => {
    await send('default', { id: 'shared', text: 'The shared note.' });
    await send('bob', { id: 'shared', text: 'The note of Bob.' });
    await send('bob', { id: 'only', text: 'The only note.' });
    for (const [id, collection] of [
      ['shared', 'default'],
      ['shared', 'bob'],
      ['only', 'bob'],
    ])
      await completed(id!, collection!);
    const { statuses } = (await get(`/context/status?database=${database}&ids=shared,only,none`)).body.data;
    expect(statuses.map(({ collection }: { collection: string }) => collection)).toEqual(['default', 'bob', null]);
    expect((await get(`/context/shared?database=${database}`)).body.data.collection).toBe('default');
    const found = await query({ query: 'note', ids: ['shared', 'only'] });
    expect(found.map((chunk) => chunk.text).sort()).toEqual(['The only note.', 'The shared note.']);
    const inBob = await query({ query: 'note', ids: ['shared', 'only'], collection: 'bob' });
    expect(inBob.map((chunk) => chunk.text).sort()).toEqual(['The note of Bob.', 'The only note.']);
  });

  test('is told apart by metadata, relations, content and ratings', async () => {
    await api.request('PATCH', `/databases/${database}/metadata-schema`, {
      json: { database_metadata_schema: [{ name: 'city', data_type: 'VARCHAR' }] },
    });
    const json = { database, collection: 'bob', metadata: { city: 'Paris' } };
    expect((await api.request('PATCH', '/context/profile', { json })).status).toBe(200);
    const inParis = await query({ query: 'likes', metadata_filters: { city: 'Paris' } });
    expect(inParis.map(({ collection }) => collection)).toEqual(['bob']);

    const relations = await get(`/context/relations?database=${database}&collection=alice&id=profile&limit=100`);
    const sources = relations.body.data.relations.map((relation: { source: string; collection: string }) => [
      relation.source.split(' ')[0],
      relation.collection,
    ]);
    expect(sources).toEqual(expect.arrayContaining([['Ada', 'alice']]));
    expect(JSON.stringify(sources)).not.toMatch(/Marie|bob/);

    const { key } = await makeKey(mongodbUri, org);
    const content = await fetch(
      `${sharedProduct().apiUrl}/context/profile/content?database=${database}&sub_tenant_id=bob`,
      { headers: { Authorization: `Bearer ${key}`, 'API-Version': '2' } },
    );
    expect(await content.text()).toContain('skating');

    const rate = (rating: object) => api.post('/feedback', { database, rating: -1, ...rating });
    expect((await rate({ source_id: 'profile', collection: 'alice' })).status).toBe(201);
    const [chunk] = await query({ query: 'skating', collection: 'bob', ids: ['profile'] });
    expect((await rate({ chunk_id: chunk!.chunk_id })).status).toBe(201);
    expect(statusAndCode(await rate({ chunk_id: chunk!.chunk_id, collection: 'alice' }))).toEqual([
      422,
      'VALIDATION_ERROR',
    ]);
    const { feedback } = (await get(`/feedback?database=${database}&source_id=profile`)).body.data;
    expect(feedback.map(({ collection }: { collection: string }) => collection)).toEqual(['bob', 'alice']);
    expect((await get(`/feedback?database=${database}&collection=alice`)).body.data.count).toBe(1);
    const rated = await withDb(mongodbUri, async (db) => {
      const tallies = await db.collection<{ _id: string }>('feedback_tallies').find().toArray();
      const keys = tallies.map(({ _id }) => _id);
      return db
        .collection<{ _id: string; collection: string; id: string }>('items')
        .find({ _id: { $in: keys }, id: 'profile' })
        .toArray();
    });
    expect(rated.map(({ collection }) => collection).sort()).toEqual(['alice', 'bob']);
  });

  test('is deleted and added again in one collection without touching the other', async () => {
    const remove = { database, collection: 'alice', ids: ['profile'] };
    expect((await api.request('DELETE', '/context', { json: remove })).body.data).toMatchObject({
      deleted: ['profile'],
    });
    expect(statusAndCode(await get(`/context/profile?database=${database}&collection=alice`))).toEqual([
      404,
      'SOURCE_NOT_FOUND',
    ]);
    expect(await text('profile', 'bob')).toContain('skating');
    await send('alice', { id: 'profile', text: 'Ada is back.' });
    await completed('profile', 'alice');
    const found = await query({ query: 'likes skating, is back', ids: ['profile'], collections: ['alice', 'bob'] });
    expect(found.map((chunk) => chunk.text)).toEqual(
      expect.arrayContaining(['Ada is back.', expect.stringContaining('skating')]),
    );
    expect(found).toHaveLength(2);
  });
});
