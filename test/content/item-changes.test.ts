import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TEXT_ANALYSIS, tableOf } from '../../domain/content/index-generations.js';
import { tagOf } from '../../domain/content/indexed-metadata.js';
import type { SearchIndex } from '../../domain/content/search.js';
import { type Chunks, createChunks, type EmbeddedChunk } from '../../storage/content/chunks.js';
import { createDatabaseIndexes } from '../../storage/content/database-indexes.js';
import { type IndexRowsStores, refreshIndexRows, writeRowsAlone } from '../../storage/content/index-rows.js';
import { createItemCatalogue, type ItemCatalogue } from '../../storage/content/item-catalogue.js';
import { createItems, type ItemRecord } from '../../storage/content/items.js';
import { createLanceIndex } from '../../storage/content/search-index/lancedb/index.js';
import { byOrganisation } from '../../storage/organisation-records.js';
import { statusAndCode } from '../support/client.js';
import { clientDuringTests, collectionsDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { sharedProduct, withDb } from '../support/product.js';
import { reconcile } from '../support/reconcile.js';

describe('metadata updates', () => {
  const { mongodbUri, dataDir } = sharedProduct();
  const org = 'changing-items';
  const api = clientDuringTests(org);
  beforeAll(() => api.createDatabase('shelf'));

  const remember = async (items: { id: string; text: string; metadata?: object }[]) => {
    const sent = await api.ingest({ database: 'shelf', memories: JSON.stringify(items) });
    expect(sent.status).toBe(202);
    for (const { id } of items) await api.ended('shelf', id);
  };
  const patch = (id: string, change: object) =>
    api.request('PATCH', `/context/${id}`, { json: { database: 'shelf', ...change } });
  const declare = (name: string) =>
    api.request('PATCH', '/databases/shelf/metadata-schema', {
      json: { database_metadata_schema: [{ name, data_type: 'INT16' }] },
    });

  test('are merged, validated by the schema, and used by the next query', async () => {
    await declare('pages');
    await remember([{ id: 'changed', text: 'A book about lenses.', metadata: { pages: 10, colour: 'red' } }]);
    const response = await patch('changed', {
      metadata: { pages: 11, colour: null, 'a.b': 1 },
      additional_metadata: { note: 'x' },
    });
    expect(response.body.data).toMatchObject({ metadata: { pages: 11, 'a.b': 1 }, additional_metadata: { note: 'x' } });
    expect(response.body.data.metadata).not.toHaveProperty('colour');
    const chunks = (await api.post('/query', { database: 'shelf', query: 'lenses', ids: ['changed'] })).body.data
      .chunks;
    expect(chunks).toHaveLength(1);
    expect(chunks[0].metadata).toMatchObject({ pages: 11, note: 'x' });
    const filtered = async (pages: number) =>
      (await api.post('/query', { database: 'shelf', query: 'lenses', metadata_filters: { pages } })).body.data.chunks;
    expect((await filtered(11)).map(({ source_id }: { source_id: string }) => source_id)).toEqual(['changed']);
    expect(await filtered(10)).toEqual([]);
    const wrong = await patch('changed', { metadata: { pages: 'many' } });
    expect(statusAndCode(wrong)).toEqual([422, 'VALIDATION_ERROR']);
    expect(wrong.body.error?.message).toMatch(/metadata\.pages.*INT16/);
    expect(statusAndCode(await patch('changed', {}))).toEqual([422, 'VALIDATION_ERROR']);
    expect(statusAndCode(await patch('unknown', { metadata: {} }))).toEqual([404, 'SOURCE_NOT_FOUND']);
    expect((await api.get('/context/changed?database=shelf')).body.data.metadata).toEqual({ pages: 11, 'a.b': 1 });
  });

  test('reach the index by the reconciler when their process dies before it writes the rows', async () => {
    await declare('edition');
    await remember([{ id: 'edited', text: 'A book about tides.', metadata: { edition: 1 } }]);
    const record = () => withDb(mongodbUri, (db) => db.collection('items').findOne({ org, id: 'edited' }));
    const edition = async (n: number) => {
      const filter = { database: 'shelf', query: 'tides', metadata_filters: { edition: n } };
      return (await api.post('/query', filter)).body.data.chunks.map(
        ({ source_id }: { source_id: string }) => source_id,
      );
    };
    await patch('edited', { metadata: { edition: 2 } });
    expect([await edition(2), await edition(1), (await record())!.rows_due]).toEqual([['edited'], [], []]);
    await withDb(mongodbUri, async (db) => {
      const catalogue = createItemCatalogue({
        mongoClient: db.client,
        items: byOrganisation(db.collection<ItemRecord>('items')),
        now: () => new Date(),
      });
      const { database_id: _id } = (await record())!;
      await catalogue.update({ _id, org }, { id: 'edited' }, { metadata: { edition: 3 } }, () => undefined);
    });
    expect((await record())!.rows_due).toEqual([expect.stringMatching(/^chg_/)]);
    await withDb(mongodbUri, (db) =>
      db.collection('items').updateOne({ org, id: 'edited' }, { $set: { check_at: new Date(0) } }),
    );
    await reconcile(sharedProduct());
    await eventually('the filter finds the new value', async () => (await edition(3)).length === 1);
    expect(await edition(2)).toEqual([]);
    await eventually('no row is due', async () => (await record())!.rows_due.length === 0);
  });

  test('a field that is declared later is filled from the metadata that items have', async () => {
    await remember([
      { id: 'tall', text: 'A tower of stone.', metadata: { height: 40 } },
      { id: 'low', text: 'A tower of wood.', metadata: { height: 4 } },
    ]);
    const higher = async (height: number) =>
      (await api.idsFound('shelf', 'tower', { metadata_filters: { height: { $gt: height } } })).sort();
    await declare('height');
    await eventually('ranges find both', async () => (await higher(1)).length === 2);
    expect(await higher(10)).toEqual(['tall']);
    const due = () => withDb(mongodbUri, (db) => db.collection('items').countDocuments({ org, rows_due: { $gt: '' } }));
    await eventually('no row is due', async () => (await due()) === 0);
  });

  test('a field that is declared while an item is in progress is filled when it ends', async () => {
    await remember([{ id: 'mast', text: 'A mast of oak.', metadata: { length: 12 } }]);
    const set = (change: object) =>
      withDb(mongodbUri, (db) => db.collection('items').updateOne({ org, id: 'mast' }, { $set: change }));
    const item = (await withDb(mongodbUri, (db) => db.collection('items').findOne({ org, id: 'mast' })))!;
    await set({ indexing_status: 'graph_creation', check_at: new Date(Date.now() + 3_600_000) });
    await declare('length');
    await eventually('the first try', () =>
      withDb(
        mongodbUri,
        async (db) => (await db.collection('items').findOne({ _id: item._id }))!.rows_due?.length === 1,
      ),
    );
    await set({ indexing_status: 'completed', check_at: new Date(0) });
    await reconcile(sharedProduct());
    await eventually('the range finds it', async () => {
      const filter = { database: 'shelf', query: 'mast', metadata_filters: { length: { $gte: 12 } } };
      return (await api.post('/query', filter)).body.data.chunks.length === 1;
    });
  });

  describe('by several processes at the same time', () => {
    type Stores = { itemCatalogue: ItemCatalogue; index: SearchIndex; chunks: Chunks } & IndexRowsStores;
    let processes: Stores[];
    let item: ItemRecord;
    const collections = collectionsDuringTests(mongodbUri);
    beforeAll(async () => {
      await declare('round');
      await remember([{ id: 'contested', text: 'A book about knots.' }]);
      processes = [1, 2, 3].map(() => ({
        databaseIndexes: createDatabaseIndexes(collections),
        items: createItems(collections),
        itemCatalogue: createItemCatalogue(collections),
        chunks: createChunks(collections),
        index: createLanceIndex({ location: join(dataDir, 'index') }),
      }));
      item = (await collections.items.findOne({ org, id: 'contested' }))!;
    });
    afterAll(async () => {
      for (const { index } of processes ?? []) await index.close();
    });

    const change = (stores: Stores, metadata: object) =>
      stores.itemCatalogue.update(
        { _id: item.database_id, org },
        { id: item.id },
        { metadata: { ...metadata } },
        () => undefined,
      );
    const writeRows = (stores: Stores, due?: string) => refreshIndexRows(stores, { org, key: item._id }, due);
    const found = async (round: number, table = item.database_id) =>
      (
        await processes[0]!.index.search(table, {
          mode: 'text',
          query: 'knots',
          operator: 'or',
          vector: null,
          metadata: { tags: [tagOf('metadata', 'round', round)] },
          limit: 10,
        })
      ).length;
    const due = async () => (await collections.items.findOne({ _id: item._id }))!.rows_due;

    test('leave exactly one row with the latest metadata', async () => {
      for (let round = 1; round <= 10; round += 1) {
        await Promise.all(
          processes.map(async (stores, n) => {
            await writeRows(stores, (await change(stores, { round, [`by_${n}`]: round })).change);
          }),
        );
        expect([round, await found(round), await found(round - 1)]).toEqual([round, 1, 0]);
      }
      expect(await due()).toEqual([]);
    });

    test('leave exactly one row in the index of a rebuild, which writes the same rows', async () => {
      const next = {
        generation: 2,
        embeddings: { model: 'next', dimensions: 4 },
        analysis: TEXT_ANALYSIS,
        rebuild: 'rbd_changes',
      };
      const table = tableOf(item.database_id, next);
      const [rebuild, ...writers] = processes as [Stores, ...Stores[]];
      await rebuild.index.create(table);
      const database = { _id: item.database_id, org };
      await collections.databases.updateOne(database, { $set: { next_index: next } });
      try {
        for (let round = 11; round <= 15; round += 1) {
          const ref = { item: item._id, version: item.version, database_id: item.database_id };
          const chunks: EmbeddedChunk[] = [];
          for await (const page of rebuild.chunks.embeddedPages(ref, next.generation)) chunks.push(...page);
          await Promise.all([
            writeRowsAlone(rebuild, database, next, chunks, new AbortController().signal),
            ...writers.map(async (stores, n) => {
              await writeRows(stores, (await change(stores, { round, [`by_${n}`]: round })).change);
            }),
          ]);
          for (const index of [database._id, table]) {
            expect([round, await found(round, index), await found(round - 1, index)]).toEqual([round, 1, 0]);
          }
        }
      } finally {
        await collections.databases.updateOne(database, { $unset: { next_index: true } });
        await rebuild.index.drop(table);
      }
    });

    test('are written again when a process dies after it has written outdated rows', async () => {
      const [slow, fast] = processes as [Stores, Stores];
      const killed = new Error('killed');
      const index: SearchIndex = {
        ...slow.index,
        async write(...outdated) {
          await writeRows(fast, (await change(fast, { round: 21 })).change);
          await slow.index.write(...outdated);
          throw killed;
        },
      };
      const first = await change(slow, { round: 20 });
      await expect(writeRows({ ...slow, index }, first.change)).rejects.toBe(killed);
      expect([await found(20), await found(21), await due()]).toEqual([1, 0, [first.change]]);
      await writeRows(fast);
      expect([await found(20), await found(21), await due()]).toEqual([0, 1, []]);
    });
  });

  test('do not add up to more than the limit of an item', async () => {
    await remember([{ id: 'heavy', text: 'A book that gets heavier.' }]);
    for (const name of ['metadata', 'additional_metadata']) {
      expect((await patch('heavy', { [name]: { first: 'x'.repeat(40_000) } })).status).toBe(200);
      const second = await patch('heavy', { [name]: { second: 'x'.repeat(40_000) } });
      expect(statusAndCode(second)).toEqual([422, 'VALIDATION_ERROR']);
      expect(second.body.error?.message).toMatch(new RegExp(`^${name}: .*64 KiB`));
    }
  });

  test('are not rejected because of fields that they do not change', async () => {
    // Ingest adds `source` to the metadata, which can exceed the limit; and a declared field can have older values.
    const full = { id: 'full', text: 'A book.', source: 'a shelf', additional_metadata: { x: 'x'.repeat(65_520) } };
    const early = { id: 'early', text: 'A book.', metadata: { declared_later: 'a text' } };
    await api.ingest({ database: 'shelf', app_knowledge: JSON.stringify([full, early]) });
    for (const { id } of [full, early]) await api.ended('shelf', id);
    await declare('declared_later');
    expect((await patch('full', { metadata: { read: true } })).status).toBe(200);
    expect((await patch('early', { additional_metadata: { read: true } })).status).toBe(200);
    expect(statusAndCode(await patch('full', { additional_metadata: { y: 1 } }))).toEqual([422, 'VALIDATION_ERROR']);
    expect(statusAndCode(await patch('early', { metadata: { read: true } }))).toEqual([422, 'VALIDATION_ERROR']);
  });

  test('by many requests at the same time are all applied, without duplicate rows', async () => {
    await remember([{ id: 'shared', text: 'A lonely buoy rings its bell.' }]);
    const names = Array.from({ length: 8 }, (_, n) => `field_${n}`);
    const responses = await Promise.all(names.map((name) => patch('shared', { metadata: { [name]: name } })));
    expect(responses.map(({ status }) => status)).toEqual(names.map(() => 200));
    const { metadata } = (await api.get('/context/shared?database=shelf')).body.data;
    expect(Object.keys(metadata).sort()).toEqual(names);
    const { chunks } = (await api.post('/query', { database: 'shelf', query: 'buoy bell', ids: ['shared'] })).body.data;
    expect(chunks).toHaveLength(1);
  });
});
