import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { clearItems } from '../../activities/content/clear-items.js';
import { createEmbedders } from '../../domain/content/embedding-models.js';
import { TEXT_ANALYSIS } from '../../domain/content/index-generations.js';
import type { SearchIndex, SearchRequest } from '../../domain/content/search.js';
import { newBatchId } from '../../domain/ids.js';
import { chunkRecords, createChunks } from '../../storage/content/chunks.js';
import { createDatabaseIndexes } from '../../storage/content/database-indexes.js';
import { createFeedback } from '../../storage/content/feedback.js';
import { createGraphStore } from '../../storage/content/graph.js';
import { refreshIndexRows, rowsOf } from '../../storage/content/index-rows.js';
import { createItemCatalogue } from '../../storage/content/item-catalogue.js';
import { queuedItem } from '../../storage/content/item-queue.js';
import { createItems, type ItemRecord } from '../../storage/content/items.js';
import { createRetrieval } from '../../storage/content/retrieval.js';
import { createLanceIndex } from '../../storage/content/search-index/lancedb/index.js';
import { collectionsDuringTests } from '../support/during-tests.js';
import { temporaryFolder } from '../support/folder.js';
import { databaseBeside, sharedProduct } from '../support/product.js';
import { readyDatabase } from '../support/records.js';

const collections = collectionsDuringTests(databaseBeside(sharedProduct().mongodbUri, 'large-items'));
const index = createLanceIndex({ location: temporaryFolder('large-items') });
afterAll(() => index.close());

const org = 'large-items';
let database_id: string;
let databases = 0;
beforeEach(async () => {
  databases += 1;
  database_id = `tnt_large_${databases}`;
  await index.create(database_id);
  await collections.databases.insertOne(readyDatabase(database_id, org, database_id));
});

/** Stores an item with its chunks, whose rows are written separately. */
async function store(id: string, texts: readonly string[], change: Partial<ItemRecord> = {}) {
  const content = { type: 'memory', title: null, source: { kind: 'text', text: '' } } as const;
  const place = { org, database_id, database: database_id, collection: 'default', batch: newBatchId(), id };
  const queued = queuedItem({ ...place, ...content, metadata: {}, additional_metadata: {} }, undefined, new Date());
  const item: ItemRecord = { ...queued, ...change };
  await collections.items.insertOne(item);
  const fields = { headings: [] };
  const chunks = chunkRecords(
    item,
    null,
    texts.map((text, ordinal) => ({ ...fields, ordinal, text })),
  );
  await collections.chunks.insertMany(chunks);
  return {
    item,
    rows: rowsOf(
      item,
      chunks.map((chunk) => ({ ...chunk, vector: null })),
      [],
    ),
  };
}

/** Stores an item with rows that are better hits for "lamp" than those of others. */
async function storeBest(id: string, rows: number, change: Partial<ItemRecord> = {}): Promise<ItemRecord> {
  const stored = await store(id, Array(rows).fill('lamp'), change);
  await index.write(database_id, stored.rows);
  return stored.item;
}

const SERVED = { indexing_status: 'completed', served_version: 1 } as const;
const storeServed = async (id: string) =>
  index.write(database_id, (await store(id, ['A lamp among many other words'], SERVED)).rows);

/** @returns the item that a query for the best chunk returns, and the searches that it makes */
async function ask(items: Pick<ReturnType<typeof createItems>, 'listByKeys'> = createItems(collections)) {
  const searches: SearchRequest[] = [];
  const watched: Pick<SearchIndex, 'search'> = {
    search(table, request) {
      searches.push(request);
      return index.search(table, request);
    },
  };
  const { query } = createRetrieval({
    index: watched,
    embedders: createEmbedders([]),
    chunks: createChunks(collections),
    items: { ...createItems(collections), ...items },
    graph: createGraphStore(collections),
    feedback: createFeedback(collections),
    reranker: null,
  });
  const database = { _id: database_id, org, index: { generation: 1, embeddings: null, analysis: TEXT_ANALYSIS } };
  const question = { query: 'lamp', mode: 'text', operator: 'or', max_results: 1, graph_context: false } as const;
  const { chunks } = await query(database, question);
  return { found: chunks.map(({ source_id }) => source_id), searches };
}

test('a new item in progress does not hide others, however many of the best rows it has', async () => {
  await storeBest('large', 1_100);
  await storeServed('small');
  expect((await ask()).found).toEqual(['small']);
});

test('a deleted item, whose rows are not removed yet, does not hide a new item with its id', async () => {
  const { _id } = await storeBest('same', 100);
  await collections.items.deleteOne({ _id });
  await storeServed('same');
  expect((await ask()).found).toEqual(['same']);
});

test('an item that becomes served between two searches of a query is found', async () => {
  const { _id } = await storeBest('large', 30);
  const items = createItems(collections);
  const { found, searches } = await ask({
    async listByKeys(...keys) {
      const read = await items.listByKeys(...keys);
      await collections.items.updateOne({ _id }, { $set: SERVED });
      return read;
    },
  });
  expect([found, searches.length]).toEqual([['large'], 2]);
});

test('the items of at most 50 collections are left out, because each takes clauses of a query', async () => {
  await Promise.all(Array.from({ length: 200 }, (_, n) => storeBest('new', 1, { collection: `collection-${n}` })));
  await storeServed('small');
  const { found, searches } = await ask();
  expect(found).toEqual(['small']);
  expect(Math.max(...searches.map(({ without = [] }) => without.length))).toBe(50);
});

test('the chunks of removed items are removed in parts of at most 10,000, with their rows', async () => {
  const texts = Array(6_000).fill('lamp');
  const items = [(await store('one', texts)).item, (await store('two', texts)).item];
  const chunks = createChunks(collections);
  const parts: { rows: string[]; chunks?: string[] }[] = [];
  await clearItems(
    {
      databaseIndexes: createDatabaseIndexes(collections),
      graph: createGraphStore(collections),
      index: {
        exists: index.exists,
        async write(_table, _rows, remove = []) {
          parts.push({ rows: [...remove] });
        },
      },
      chunks: {
        listIds: chunks.listIds,
        async remove(database, ids) {
          parts.at(-1)!.chunks = [...ids];
          await chunks.remove(database, ids);
        },
      },
    },
    { _id: database_id, org },
    items.map(({ _id }) => ({ item: _id, upTo: 1 })),
  );
  expect(parts.map(({ rows }) => rows.length)).toEqual([10_000, 2_000]);
  expect(parts.map((part) => part.chunks)).toEqual(parts.map(({ rows }) => rows));
  expect(await collections.chunks.countDocuments({ database_id })).toBe(0);
});

test('a change of metadata writes the rows of an item in pages of at most 512, each row once', async () => {
  const { item, rows } = await store('large', Array(1_100).fill('lamp'), { ...SERVED, rows_due: ['chg_large'] });
  const pages: string[][] = [];
  await refreshIndexRows(
    {
      databaseIndexes: createDatabaseIndexes(collections),
      items: createItems(collections),
      itemCatalogue: createItemCatalogue(collections),
      chunks: createChunks(collections),
      index: {
        async write(table, page, remove) {
          const ids = page.map(({ chunk_id }) => chunk_id);
          expect(remove).toEqual(ids);
          pages.push(ids);
          await index.write(table, page, remove);
        },
      },
    },
    { org, key: item._id },
  );
  expect(pages.map(({ length }) => length)).toEqual([512, 512, 76]);
  expect(pages.flat()).toEqual(rows.map(({ chunk_id }) => chunk_id));
});
