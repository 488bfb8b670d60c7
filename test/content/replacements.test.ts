import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createEmbedders } from '../../domain/content/embedding-models.js';
import { TEXT_ANALYSIS } from '../../domain/content/index-generations.js';
import type { SearchIndex } from '../../domain/content/search.js';
import { newBatchId } from '../../domain/ids.js';
import { createChunks } from '../../storage/content/chunks.js';
import { createFeedback } from '../../storage/content/feedback.js';
import { createGraphStore } from '../../storage/content/graph.js';
import { createItemQueue, type ExistingItem, queuedItem } from '../../storage/content/item-queue.js';
import { createItems } from '../../storage/content/items.js';
import { createRetrieval } from '../../storage/content/retrieval.js';
import { createLanceIndex } from '../../storage/content/search-index/lancedb/index.js';
import { inTransaction } from '../../storage/transactions.js';
import { type Client, statusAndCode } from '../support/client.js';
import { clientDuringTests, collectionsDuringTests, receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { clientOf, registeredReceiver } from '../support/organisation.js';
import { sharedProduct } from '../support/product.js';
import { reconcile } from '../support/reconcile.js';

const BROKEN = { name: 'broken.pdf', content: '%PDF-1.7\nnothing of a PDF follows' };

describe('a replacement', () => {
  const { mongodbUri, dataDir } = sharedProduct();
  const org = 'replacements';
  const database = 'harbour';
  const api = clientDuringTests(org);
  const receiver = receiverDuringTests(api);
  const collections = collectionsDuringTests(mongodbUri);
  beforeAll(() => api.createDatabase(database));

  const memories = (items: object[], upsert = 'true') =>
    api.ingest({ database, upsert, memories: JSON.stringify(items) });
  const file = (id: string, content: { name: string; content: string }) =>
    api.ingest({ database, upsert: 'true', document_metadata: JSON.stringify([{ id }]) }, [content]);
  const statusOf = async (id: string) =>
    (await api.get(`/context/status?database=${database}&id=${id}`)).body.data?.statuses[0];
  const found = async (query: string, more: object = {}): Promise<string[]> => {
    const { body } = await api.post('/query', { database, query, ...more });
    return body.data.chunks.map(({ text }: { text: string }) => text);
  };
  const contentOf = async (id: string) => (await api.content(database, id)).toString();
  const itemOf = async (id: string) => (await collections.items.findOne({ org, id }))!;
  const webhook = (id: string, status: string) =>
    receiver.waitFor(`${status} of ${id}`, ({ json }) => json.id === id && json.status === status);
  const filesOf = () => collections.db.collection('files.files').countDocuments({ 'metadata.org': org });
  /** Versions whose chunks, entities and relations are stored. */
  const storedVersions = async (id: string) => {
    const { _id: item } = await itemOf(id);
    const of = [collections.chunks, collections.entities, collections.relations] as const;
    const versions = await Promise.all(of.map((collection) => collection.distinct('version', { item } as never)));
    return [...new Set(versions.flat())].sort();
  };
  /** Queues a replacement as an ingest does, and leaves it queued: no process has started its workflow. */
  const queueReplacement = async (id: string, text: string) => {
    const { _id, version, indexing_status, bytes, created_at, served_version } = await itemOf(id);
    const existing: ExistingItem = {
      _id,
      org,
      id,
      version,
      indexing_status,
      bytes,
      created_at,
      served_version,
      source: {},
    };
    const { database_id } = await itemOf(id);
    const content = { type: 'memory', title: null, source: { kind: 'text', text } } as const;
    const place = { org, database_id, database, collection: 'default', batch: newBatchId(), id };
    const queued = queuedItem(
      { ...place, ...content, metadata: { colour: 'new' }, additional_metadata: {} },
      existing,
      new Date(Date.now() + 3_600_000),
    );
    await inTransaction(collections.mongoClient, async (tx) => {
      await createItemQueue(collections).add([queued], tx);
    });
  };
  const startQueued = async (id: string) => {
    await collections.items.updateOne({ org, id }, { $set: { check_at: new Date(0) } });
    await reconcile(sharedProduct());
  };

  test('that fails leaves the version before: queries, reads and the file give it, and the status tells both', async () => {
    const good = { name: 'lamp.txt', content: 'Ada Lovelace met Charles Babbage at the lighthouse.' };
    await file('lamp', good);
    await api.ended(database, 'lamp');
    expect(await statusOf('lamp')).toMatchObject({ version: 1, served_version: 1 });
    const usage = async () => (await api.get('/usage')).body.data;
    const [stored, files] = [await usage(), await filesOf()];

    await file('lamp', BROKEN);
    expect((await webhook('lamp', 'errored')).json).toMatchObject({ error_code: 'E2001' });
    expect(await statusOf('lamp')).toMatchObject({
      indexing_status: 'errored',
      error_code: 'E2001',
      version: 2,
      served_version: 1,
    });
    expect(await found('lighthouse', { ids: ['lamp'] })).toEqual([good.content]);
    expect((await api.get(`/context/lamp?database=${database}`)).body.data).toMatchObject({
      indexing_status: 'errored',
      served_version: 1,
      source: { filename: 'lamp.txt' },
      chunks: [{ text: good.content }],
    });
    expect(await contentOf('lamp')).toBe(good.content);
    const relations = await api.get(`/context/relations?database=${database}&id=lamp`);
    expect(relations.body.data.relations).not.toEqual([]);
    await eventually('the failed file removed', async () => (await filesOf()) === files);
    expect(await usage()).toEqual(stored);

    await file('lamp', { ...good, content: 'Charles Babbage met Ada Lovelace at the pier.' });
    await eventually('the third version completed', async () => (await statusOf('lamp')).served_version === 3);
    expect(await found('lighthouse pier', { ids: ['lamp'] })).toEqual([
      'Charles Babbage met Ada Lovelace at the pier.',
    ]);
    await eventually('only the third version stored', async () => {
      return String(await storedVersions('lamp')) === '3' && (await filesOf()) === files;
    });
    expect((await itemOf('lamp')).served).toBeUndefined();
    await eventually('nothing left to clear', async () => {
      return (await collections.removedItems.countDocuments({ org, id: 'lamp' })) === 0;
    });
  });

  test('is announced with its version, and the end of the version before is not announced after it', async () => {
    const own = await clientOf('replacements-order');
    const slow = await registeredReceiver(own);
    await own.createDatabase('order');
    slow.respond = ({ json }) => ({ status: json.version === 1 ? 500 : 204 });
    await own.ingest({ database: 'order', memories: '[{"id":"note","text":"The first text."}]' });
    await slow.waitFor('the first attempt', ({ json }) => json.version === 1);
    await own.ingest({ database: 'order', upsert: 'true', memories: '[{"id":"note","text":"The second text."}]' });
    await slow.waitFor('the second version', ({ json }) => json.version === 2);
    slow.respond = () => ({ status: 204 });
    await eventually('the end of the first delivery', async () => {
      return deliveryOf(own, ({ error_code }) => error_code === 'SUPERSEDED');
    });
    expect(slow.received.map(({ json }) => json.version).at(-1)).toBe(2);
    await slow.close();
  });

  test('is announced, and then nobody can have the end of the version before sent again', async () => {
    const own = await clientOf('replacements-retry');
    const receiver = await registeredReceiver(own);
    await own.createDatabase('retry');
    // The first answer is final.
    receiver.respond = ({ json }) => ({ status: json.version === 1 ? 410 : 204 });
    await own.ingest({ database: 'retry', memories: '[{"id":"note","text":"The first text."}]' });
    const first = () => deliveryOf(own, ({ error_code }) => error_code !== null);
    const { delivery_id } = await eventually('the first delivery failed', async () => {
      const delivery = await first();
      return delivery?.status === 'permanently_failed' ? delivery : undefined;
    });
    await own.ingest({ database: 'retry', upsert: 'true', memories: '[{"id":"note","text":"The second text."}]' });
    await receiver.waitFor('the second version', ({ json }) => json.version === 2);
    receiver.respond = () => ({ status: 204 });
    expect((await own.post(`/webhooks/indexing/deliveries/${delivery_id}/retry`)).status).toBe(200);
    await eventually('the retry ended', async () => (await first())?.error_code === 'SUPERSEDED');
    expect(receiver.received.map(({ json }) => json.version)).toEqual([1, 2]);
    await receiver.close();
  });

  test('in progress is not seen: the version before can be queried and read, but not changed', async () => {
    const metadata = { colour: 'old' };
    await memories([{ id: 'buoy', text: 'Grace Hopper paints the old buoy.', metadata }]);
    await api.ended(database, 'buoy');
    await queueReplacement('buoy', 'Grace Hopper paints the new buoy.');
    expect(await statusOf('buoy')).toMatchObject({ indexing_status: 'queued', version: 2, served_version: 1 });
    expect(await found('buoy', { ids: ['buoy'] })).toEqual(['Grace Hopper paints the old buoy.']);
    const { data } = (await api.get(`/context/buoy?database=${database}`)).body;
    expect(data).toMatchObject({ metadata, source: { kind: 'text', size: 33 }, chunks: [{}], served_version: 1 });
    expect(await contentOf('buoy')).toBe('Grace Hopper paints the old buoy.');
    const patch = { json: { database, metadata: { colour: 'red' } } };
    expect(statusAndCode(await api.request('PATCH', '/context/buoy', patch))).toEqual([409, 'SOURCE_PROCESSING']);
    await startQueued('buoy');
    await eventually('the replacement served', async () => (await statusOf('buoy')).served_version === 2);
    expect(await found('buoy', { ids: ['buoy'] })).toEqual(['Grace Hopper paints the new buoy.']);
    expect((await api.get(`/context/buoy?database=${database}`)).body.data.metadata).toEqual({ colour: 'new' });
  });

  test('of a failed replacement keeps what was served, and its metadata can be changed until then', async () => {
    await memories([{ id: 'crane', text: 'The crane lifts timber.' }]);
    await api.ended(database, 'crane');
    for (const version of [2, 3]) {
      await file('crane', BROKEN);
      await eventually(`version ${version} errored`, async () => {
        const status = await statusOf('crane');
        return status.version === version && status.indexing_status === 'errored';
      });
    }
    const json = { database, additional_metadata: { note: 'rusty' } };
    expect((await api.request('PATCH', '/context/crane', { json })).body.data).toMatchObject({
      additional_metadata: { note: 'rusty' },
      served_version: 1,
    });
    expect(
      await found('timber', { ids: ['crane'], metadata_filters: { additional_metadata: { note: 'rusty' } } }),
    ).toEqual(['The crane lifts timber.']);
    await memories([{ id: 'crane', text: 'The crane lifts barrels.' }]);
    await eventually('the fourth version served', async () => (await statusOf('crane')).served_version === 4);
    expect(await found('crane', { ids: ['crane'] })).toEqual(['The crane lifts barrels.']);
    await eventually('only the fourth stored', async () => String(await storedVersions('crane')) === '4');
  });

  test('in progress can be deleted with its item: the webhook says E2005, and nothing is left', async () => {
    const files = await filesOf();
    await file('wreck', { name: 'wreck.txt', content: 'The wreck lies deep.' });
    await api.ended(database, 'wreck');
    await queueReplacement('wreck', 'The wreck was lifted.');
    const { _id: item } = await itemOf('wreck');
    expect((await api.del(`/context?database=${database}&id=wreck`)).body.data).toMatchObject({ deleted: ['wreck'] });
    expect((await webhook('wreck', 'errored')).json).toMatchObject({ error_code: 'E2005' });
    expect(await found('wreck')).not.toContain('The wreck lies deep.');
    expect(statusAndCode(await api.get(`/context/wreck?database=${database}`))).toEqual([404, 'SOURCE_NOT_FOUND']);
    await eventually('chunks and file removed', async () => {
      return (await collections.chunks.countDocuments({ item })) === 0 && (await filesOf()) === files;
    });
  });

  test('is seen by every query in exactly one version, alone and in a group', async () => {
    const ids = ['quay', 'mole', 'dock'];
    const write = (round: number) => memories(ids.map((id) => ({ id, text: `The ${id} in round ${round}.` })));
    await write(0);
    for (const id of ids) await api.ended(database, id);
    // The model is loaded for the first query.
    await found('round', { ids });
    let replacing = true;
    const results: string[][] = [];
    const asking = (async () => {
      while (replacing || results.length < 5) results.push(await found('round', { ids, graph_context: false }));
    })();
    for (let round = 1; round <= 4; round += 1) {
      await (round % 2 === 0
        ? write(round)
        : Promise.all(ids.map((id) => memories([{ id, text: `The ${id} in round ${round}.` }]))));
      await eventually('all completed', async () => {
        const all = await Promise.all(ids.map(statusOf));
        return all.every(({ version, served_version }) => version === round + 1 && served_version === round + 1);
      });
    }
    replacing = false;
    await asking;
    const seen = results.map((texts) => texts.map((text) => text.split(' ')[1]).sort());
    expect(seen).toEqual(results.map(() => [...ids].sort()));
    await eventually('only the last versions stored', async () => {
      return String(await Promise.all(ids.map(storedVersions))) === '5,5,5';
    });
  });

  test('that is served between the search and the reading of its hits is found by a second search', async () => {
    await memories([{ id: 'ferry', text: 'The ferry leaves at nine.' }]);
    await api.ended(database, 'ferry');
    const index = createLanceIndex({ location: join(dataDir, 'index') });
    const slow: Pick<SearchIndex, 'search'> = {
      async search(...request) {
        const hits = await index.search(...request);
        if ((await statusOf('ferry')).version > 1) return hits;
        await memories([{ id: 'ferry', text: 'The ferry leaves at ten.' }]);
        await eventually('the first version gone', async () => String(await storedVersions('ferry')) === '2');
        return hits;
      },
    };
    const { query } = createRetrieval({
      index: slow,
      embedders: createEmbedders([]),
      chunks: createChunks(collections),
      items: createItems(collections),
      graph: createGraphStore(collections),
      feedback: createFeedback(collections),
      reranker: null,
    });
    const { database_id: _id } = await itemOf('ferry');
    const question = { query: 'ferry', mode: 'text', operator: 'or', max_results: 3, graph_context: true } as const;
    const { chunks } = await query(
      { _id, org, index: { generation: 1, embeddings: null, analysis: TEXT_ANALYSIS } },
      question,
    );
    expect(chunks.map(({ text }) => text)).toEqual(['The ferry leaves at ten.']);
    await index.close();
  });

  test('whose process dies after the switch is cleaned up by the reconciler', async () => {
    await memories([{ id: 'lock', text: 'Marie Curie worked with Pierre Curie at the lock.' }]);
    await api.ended(database, 'lock');
    const item = await itemOf('lock');
    const ref = { item: item._id, database_id: item.database_id, version: 1 };
    const { value: [chunk] = [] } = await createChunks(collections).embeddedPages(ref, 1).next();
    // As after the switch to a second version, whose predecessor was not cleared.
    await collections.items.updateOne({ _id: item._id }, { $set: { version: 2, served_version: 2 } });
    const second = `${chunk!._id.slice(0, -3)}2_0`;
    await createChunks(collections).add([{ ...chunk!, _id: second, version: 2 }], 1, new Set());
    await collections.removedItems.insertOne({
      _id: item._id,
      org,
      database_id: item.database_id,
      collection: 'default',
      id: 'lock',
      version: 1,
      live: true,
      removal: 'rmv_lock',
      files: [],
      check_at: new Date(0),
    });
    await reconcile(sharedProduct());
    await eventually('the first version removed', async () => String(await storedVersions('lock')) === '2');
    await eventually('nothing left to clear', async () => {
      return (await collections.removedItems.findOne({ _id: item._id })) === null;
    });
  });
});

/** @returns a delivery of the client's organisation */
async function deliveryOf(
  client: Client,
  matches: (delivery: { error_code: string | null }) => boolean,
): Promise<{ delivery_id: string; status: string; error_code: string | null } | undefined> {
  return (await client.get('/webhooks/indexing/deliveries')).body.data.deliveries.find(matches);
}
