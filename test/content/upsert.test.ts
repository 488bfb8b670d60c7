import { beforeAll, describe, expect, test } from '@jest/globals';
import { clientDuringTests, receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { sharedProduct, withDb } from '../support/product.js';

describe('ingesting again', () => {
  const { mongodbUri } = sharedProduct();
  const org = 'ingesting-again';
  const api = clientDuringTests(org);
  const receiver = receiverDuringTests(api);
  beforeAll(() => api.createDatabase('inbox'));

  const upsert = (memories: object[]) =>
    api.ingest({ database: 'inbox', upsert: 'true', memories: JSON.stringify(memories) });
  const webhooks = (id: string) => receiver.received.filter(({ json }) => json.id === id);
  const notified = (id: string, times: number) =>
    eventually(`${times} webhooks of ${id}`, () => webhooks(id).length >= times && webhooks(id));
  const itemOf = (id: string) => withDb(mongodbUri, async (db) => (await db.collection('items').findOne({ org, id }))!);
  /** Dedupe keys of the deliveries of an item, which have its version. */
  const dedupeKeys = (id: string) =>
    withDb(mongodbUri, async (db) => {
      const found = await db.collection('deliveries').find({ org, doc_id: id }).toArray();
      return found.map(({ dedupe_key }) => String(dedupe_key));
    });

  test('the same content is not indexed again, but has a webhook', async () => {
    const memory = { id: 'same', text: 'The lamp burns.', metadata: { a: 1, b: 2 } };
    await upsert([memory]);
    await api.ended('inbox', 'same');
    const [first] = await notified('same', 1);
    const before = await itemOf('same');
    const again = await upsert([{ ...memory, metadata: { b: 2, a: 1 } }]);
    expect(again.body.data).toMatchObject({
      results: [{ id: 'same', status: 'completed', unchanged: true }],
      success_count: 1,
      failed_count: 0,
    });
    const [, second] = await notified('same', 2);
    expect(second!.json).toMatchObject({ event: 'indexing.status_changed', status: 'completed', database: 'inbox' });
    expect(second!.json.delivery_id).not.toBe(first!.json.delivery_id);
    expect(await itemOf('same')).toMatchObject({ version: before.version, batch: before.batch });
  });

  test('a different text, title or metadata is indexed again', async () => {
    const memory = { id: 'other', text: 'One.' };
    const changes = [
      memory,
      { ...memory, text: 'Two.' },
      { ...memory, title: 'A title' },
      { ...memory, metadata: { a: 1 } },
      { ...memory, additional_metadata: { a: 1 } },
    ];
    for (const [index, item] of changes.entries()) {
      expect((await upsert([item])).body.data.results).toEqual([{ id: 'other', status: 'queued' }]);
      await api.ended('inbox', 'other');
      expect((await itemOf('other')).version).toBe(index + 1);
    }
  });

  test('a file is compared by its bytes, and an identical copy is not kept', async () => {
    const fields = { database: 'inbox', upsert: 'true', document_metadata: '[{"id":"file"}]' };
    const send = (content: string, name = 'note.txt') => api.ingest(fields, [{ name, content }]);
    const files = () =>
      withDb(mongodbUri, (db) => db.collection('files.files').countDocuments({ 'metadata.org': org }));
    await send('A note in a file.');
    await api.ended('inbox', 'file');
    const before = await files();
    expect((await send('A note in a file.')).body.data.results[0]).toMatchObject({
      status: 'completed',
      unchanged: true,
    });
    await eventually('the copy removed', async () => (await files()) === before);
    const { data } = (await api.get('/context/file?database=inbox')).body;
    expect(data.chunks).toHaveLength(1);
    expect((await send('A note in a file!')).body.data.results[0]).toEqual({
      id: 'file',
      filename: 'note.txt',
      status: 'queued',
    });
    await api.ended('inbox', 'file');
    expect((await itemOf('file')).version).toBe(2);
  });

  test('an item that was changed by PATCH is indexed again as it is sent', async () => {
    const memory = { id: 'patched', text: 'A patched note.', metadata: { colour: 'red' } };
    await upsert([memory]);
    await api.ended('inbox', 'patched');
    await api.request('PATCH', '/context/patched', { json: { database: 'inbox', metadata: { colour: 'blue' } } });
    expect((await upsert([memory])).body.data.results[0].status).toBe('queued');
    await api.ended('inbox', 'patched');
    expect((await itemOf('patched')).metadata).toEqual({ colour: 'red' });
  });

  test('an errored item is indexed again with the same content', async () => {
    const send = () =>
      api.ingest({ database: 'inbox', upsert: 'true', document_metadata: '[{"id":"broken"}]' }, [
        { name: 'broken.pdf', content: '%PDF-1.7\nnothing of a PDF follows' },
      ]);
    await send();
    await api.ended('inbox', 'broken');
    // A version that ends before the one before it is announced is announced in its place.
    await notified('broken', 1);
    expect((await send()).body.data.results[0]).toMatchObject({ status: 'queued' });
    await notified('broken', 2);
    expect((await itemOf('broken')).version).toBe(2);
  });

  test('the same content sent twice while it is being indexed is indexed once, with one webhook', async () => {
    let round = 0;
    // On a busy machine the first can be indexed before the second is sent.
    const results = await eventually('a content that is sent again in time', async () => {
      round += 1;
      const memory = { id: `twice-${round}`, text: 'A long text takes longer to index. '.repeat(600) };
      await upsert([memory]);
      const again = await upsert([memory, { id: `marker-${round}`, text: 'Sent with it.' }]);
      return again.body.data.results[0].status !== 'completed' && again.body.data.results;
    });
    const id = `twice-${round}`;
    expect(results).toEqual([
      { id, status: expect.stringMatching(/^(queued|processing|graph_creation)$/), unchanged: true },
      { id: `marker-${round}`, status: 'queued' },
    ]);
    await api.ended('inbox', id);
    await api.ended('inbox', `marker-${round}`);
    await notified(id, 1);
    const { _id } = await itemOf(id);
    expect(await dedupeKeys(id)).toEqual([`item/${_id}/1`]);
  });

  test('a newer version supersedes a version in progress: only the newer version has a webhook', async () => {
    let round = 0;
    // On a busy machine its end can be the first that is seen of it.
    const id = await eventually('a version in progress', async () => {
      const next = `newer-${++round}`;
      await upsert([{ id: next, text: 'The old words. '.repeat(3_000) }]);
      const seen = await eventually('its start', async () => {
        const { indexing_status } = await api.status('inbox', next);
        return indexing_status !== 'queued' && indexing_status;
      });
      return seen !== 'completed' && next;
    });
    await upsert([{ id, text: 'The new words.' }]);
    await api.ended('inbox', id);
    const item = await itemOf(id);
    expect(item.version).toBe(2);
    await eventually('the older version removed', async () => {
      const versions = await withDb(mongodbUri, (db) =>
        db.collection('chunks').distinct('version', { item: item._id }),
      );
      return JSON.stringify(versions) === '[2]';
    });
    expect(await dedupeKeys(id)).toEqual([`item/${item._id}/2`]);
    await notified(id, 1);
  });

  test('many replacements at the same time are all accepted; the last is found, and each completion has one webhook', async () => {
    const texts = Array.from({ length: 12 }, (_, n) => `Contested version ${n} of the harbour plan.`);
    const responses = await Promise.all(texts.map((text) => upsert([{ id: 'contested', text }])));
    expect(responses.map(({ status }) => status)).toEqual(texts.map(() => 202));
    const item = await itemOf('contested');
    expect(item.version).toBe(texts.length);
    await eventually('a delivery of the last version', async () =>
      (await dedupeKeys('contested')).includes(`item/${item._id}/12`),
    );
    const keys = await dedupeKeys('contested');
    expect(new Set(keys).size).toBe(keys.length);
    // A version that ends before the one before it is announced is announced in its place.
    await eventually('each delivery received, or superseded', async () => {
      const ids = new Set(webhooks('contested').map(({ json }) => json.delivery_id));
      const deliveries = await withDb(mongodbUri, (db) =>
        db.collection('deliveries').find({ org, doc_id: 'contested' }).toArray(),
      );
      const sent = deliveries.filter(({ error_code }) => error_code !== 'SUPERSEDED');
      return ids.size === sent.length && sent.every(({ _id }) => ids.has(String(_id)));
    });
    expect(await dedupeKeys('contested')).toHaveLength(keys.length);
    const { chunks } = (await api.post('/query', { database: 'inbox', query: 'harbour plan', ids: ['contested'] })).body
      .data;
    expect(chunks.map(({ text }: { text: string }) => text)).toEqual([item.source.text]);
  });

  test('without upsert an existing id is 409 even with the same content', async () => {
    await upsert([{ id: 'taken', text: 'Mine.' }]);
    const response = await api.ingest({ database: 'inbox', memories: '[{"id":"taken","text":"Mine."}]' });
    expect([response.status, response.body.error?.code]).toEqual([409, 'SOURCE_ALREADY_EXISTS']);
  });
});
