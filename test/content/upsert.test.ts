import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Client, createClient } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { makeKey, sharedProduct, withDb } from '../support/product.js';
import { type Receiver, startReceiver } from '../support/receiver.js';

describe('ingesting again', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const org = 'ingesting-again';
  let api: Client;
  let receiver: Receiver;

  beforeAll(async () => {
    api = createClient(apiUrl, (await makeKey(mongodbUri, org)).key);
    receiver = await startReceiver();
    await api.post('/webhooks/indexing', { url: receiver.url });
    await api.createDatabase('inbox');
  });
  afterAll(() => receiver.close());

  const upsert = (memories: object[], more: Record<string, string> = {}) =>
    api.ingest({ database: 'inbox', upsert: 'true', memories: JSON.stringify(memories), ...more });
  const webhooks = (id: string) => receiver.received.filter(({ json }) => json.id === id);
  const announced = (id: string, times: number) =>
    eventually(`${times} webhooks of ${id}`, () => webhooks(id).length >= times && webhooks(id));
  const itemOf = (id: string) => withDb(mongodbUri, async (db) => (await db.collection('items').findOne({ org, id }))!);
  /** The versions of an item that deliveries announce, as their dedupe keys name them. */
  const dedupeKeys = (id: string) =>
    withDb(mongodbUri, async (db) => {
      const found = await db.collection('deliveries').find({ org, doc_id: id }).toArray();
      return found.map(({ dedupe_key }) => String(dedupe_key));
    });

  test('the same content is not indexed again, and its client is told how it is', async () => {
    const memory = { id: 'same', text: 'The lamp burns.', metadata: { a: 1, b: 2 } };
    await upsert([memory]);
    await api.ended('inbox', 'same');
    const [first] = await announced('same', 1);
    const before = await itemOf('same');
    const again = await upsert([{ ...memory, metadata: { b: 2, a: 1 } }]);
    expect(again.body.data).toMatchObject({
      results: [{ id: 'same', status: 'completed', unchanged: true }],
      success_count: 1,
      failed_count: 0,
    });
    const [, second] = await announced('same', 2);
    expect(second!.json).toMatchObject({ event: 'indexing.status_changed', status: 'completed', database: 'inbox' });
    expect(second!.json.delivery_id).not.toBe(first!.json.delivery_id);
    expect(await itemOf('same')).toMatchObject({ version: before.version, batch: before.batch });
  });

  test('other text, title, metadata or collection is another content', async () => {
    const memory = { id: 'other', text: 'One.' };
    const changes: [object, Record<string, string>][] = [
      [memory, {}],
      [{ ...memory, text: 'Two.' }, {}],
      [{ ...memory, title: 'A title' }, {}],
      [{ ...memory, metadata: { a: 1 } }, {}],
      [{ ...memory, additional_metadata: { a: 1 } }, {}],
      [memory, { collection: 'elsewhere' }],
    ];
    for (const [at, [item, more]] of changes.entries()) {
      expect((await upsert([item], more)).body.data.results).toEqual([{ id: 'other', status: 'queued' }]);
      await api.ended('inbox', 'other');
      expect((await itemOf('other')).version).toBe(at + 1);
    }
  });

  test('a file is told by its bytes; the copy that came again is not kept', async () => {
    const fields = { database: 'inbox', upsert: 'true', document_metadata: '[{"id":"file"}]' };
    const send = (content: string, name = 'note.txt') => api.ingest(fields, [{ name, content }]);
    const files = () =>
      withDb(mongodbUri, (db) => db.collection('files.files').countDocuments({ 'metadata.org': org }));
    await send('A note in a file.');
    await api.ended('inbox', 'file');
    const kept = await files();
    expect((await send('A note in a file.')).body.data.results[0]).toMatchObject({
      status: 'completed',
      unchanged: true,
    });
    await eventually('the copy removed', async () => (await files()) === kept);
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

  test('what was changed by PATCH counts as another content: ingested again it is as it was sent', async () => {
    const memory = { id: 'patched', text: 'A patched note.', metadata: { colour: 'red' } };
    await upsert([memory]);
    await api.ended('inbox', 'patched');
    await api.request('PATCH', '/context/patched', { json: { database: 'inbox', metadata: { colour: 'blue' } } });
    expect((await upsert([memory])).body.data.results[0].status).toBe('queued');
    await api.ended('inbox', 'patched');
    expect((await itemOf('patched')).metadata).toEqual({ colour: 'red' });
  });

  test('an errored item is tried again with the same content', async () => {
    const send = () =>
      api.ingest({ database: 'inbox', upsert: 'true', document_metadata: '[{"id":"broken"}]' }, [
        { name: 'broken.pdf', content: '%PDF-1.7\nnothing of a PDF follows' },
      ]);
    await send();
    await api.ended('inbox', 'broken');
    expect((await send()).body.data.results[0]).toMatchObject({ status: 'queued' });
    await announced('broken', 2);
    expect((await itemOf('broken')).version).toBe(2);
  });

  test('the same content twice while it is being indexed is one piece of work and one webhook', async () => {
    const memory = { id: 'twice', text: 'It is long, so that it takes its time. '.repeat(600) };
    await upsert([memory]);
    const again = await upsert([memory, { id: 'marker', text: 'Sent with it.' }]);
    expect(again.body.data.results).toEqual([
      { id: 'twice', status: expect.stringMatching(/^(queued|processing|graph_creation)$/), unchanged: true },
      { id: 'marker', status: 'queued' },
    ]);
    await api.ended('inbox', 'twice');
    await api.ended('inbox', 'marker');
    await announced('twice', 1);
    const { _id } = await itemOf('twice');
    expect(await dedupeKeys('twice')).toEqual([`item/${_id}/1`]);
  });

  test('a newer version supersedes one under way: the newer is announced once, the older never twice', async () => {
    await upsert([{ id: 'newer', text: 'The old words. '.repeat(3_000) }]);
    await eventually('under way', async () => (await api.status('inbox', 'newer')).indexing_status === 'processing');
    await upsert([{ id: 'newer', text: 'The new words.' }]);
    await api.ended('inbox', 'newer');
    const item = await itemOf('newer');
    expect(item.version).toBe(2);
    await eventually('nothing of the older version left', async () => {
      const left = await withDb(mongodbUri, (db) => db.collection('chunks').distinct('version', { item: item._id }));
      return JSON.stringify(left) === '[2]';
    });
    expect(await dedupeKeys('newer')).toEqual([`item/${item._id}/2`]);
    await announced('newer', 1);
  });

  test('replaced by many at the same time, all are accepted, the last is found, and each end is told once', async () => {
    const texts = Array.from({ length: 12 }, (_, n) => `Contested version ${n} of the harbour plan.`);
    const answers = await Promise.all(texts.map((text) => upsert([{ id: 'contested', text }])));
    expect(answers.map(({ status }) => status)).toEqual(texts.map(() => 202));
    const item = await itemOf('contested');
    expect(item.version).toBe(texts.length);
    await eventually('the last one announced', async () =>
      (await dedupeKeys('contested')).includes(`item/${item._id}/12`),
    );
    const told = await dedupeKeys('contested');
    expect(new Set(told).size).toBe(told.length);
    const received = await eventually('each delivered', async () => {
      const ids = new Set(webhooks('contested').map(({ json }) => json.delivery_id));
      return ids.size === (await dedupeKeys('contested')).length && ids;
    });
    expect(received.size).toBe(told.length);
    const { chunks } = (await api.post('/query', { database: 'inbox', query: 'harbour plan', ids: ['contested'] })).body
      .data;
    expect(chunks.map(({ text }: { text: string }) => text)).toEqual([item.source.text]);
  });

  test('without upsert an id that is taken stays 409, whatever the content', async () => {
    await upsert([{ id: 'taken', text: 'Mine.' }]);
    const answer = await api.ingest({ database: 'inbox', memories: '[{"id":"taken","text":"Mine."}]' });
    expect([answer.status, answer.body.error?.code]).toEqual([409, 'SOURCE_ALREADY_EXISTS']);
  });
});
