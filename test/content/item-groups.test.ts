import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { Runtime } from '@temporalio/worker';
import { pino } from 'pino';
import { createClearOutdated } from '../../activities/content/clear-items.js';
import { createItemActivities } from '../../activities/content/index-item.js';
import { createItemGroupActivities } from '../../activities/content/item-groups.js';
import { createRunsAlone } from '../../activities/content/item-runs.js';
import { createEmbedders } from '../../domain/content/embedding-models.js';
import type { SearchIndex } from '../../domain/content/search.js';
import type { ItemRef, RemovalRef } from '../../domain/content/workflow-contract.js';
import { EmbeddingError } from '../../domain/errors.js';
import { newBatchId } from '../../domain/ids.js';
import { createSealer } from '../../domain/sealing.js';
import { createExtractor } from '../../providers/extraction/index.js';
import { ProcessLostError } from '../../providers/isolation/protocol.js';
import { identifySelf, isAlive } from '../../runtime/process-identity.js';
import { createCheckpointStore } from '../../storage/checkpoints.js';
import { createChunks } from '../../storage/content/chunks.js';
import { createDatabaseIndexes } from '../../storage/content/database-indexes.js';
import { createDatabases } from '../../storage/content/databases.js';
import { createGraphStore } from '../../storage/content/graph.js';
import { createItemCatalogue } from '../../storage/content/item-catalogue.js';
import { createItemGroups } from '../../storage/content/item-groups.js';
import { queuedItem } from '../../storage/content/item-queue.js';
import { createItems, type ItemRecord } from '../../storage/content/items.js';
import { createOutdatedVersions } from '../../storage/content/outdated-versions.js';
import { createRemovedItems } from '../../storage/content/removed-items.js';
import { createLanceIndex } from '../../storage/content/search-index/lancedb/index.js';
import { createGridFsFiles } from '../../storage/files/gridfs.js';
import { createScratch } from '../../storage/scratch.js';
import { createDeliveries } from '../../storage/webhooks/deliveries.js';
import { createRegistrations } from '../../storage/webhooks/registrations.js';
import { installTemporalLogger } from '../../worker/logging.js';
import { createWorkerMetrics } from '../../worker/metrics.js';
import { collectionsDuringTests } from '../support/during-tests.js';
import { databaseBeside, sharedProduct } from '../support/product.js';
import { readyDatabase } from '../support/records.js';

describe('a group of items', () => {
  const { mongodbUri } = sharedProduct();
  const folder = mkdtempSync(join(tmpdir(), 'postback-groups-'));
  const org = 'groups';
  const database_id = 'tnt_groups';
  const extractor = createExtractor({ processes: 1 });
  let index: SearchIndex;
  /** What the activities met: workflows that were started, and texts that were embedded. */
  let started: string[];
  let announced: string[];
  let embedded: number;
  /** Called while the texts are embedded, and while the graph of a text is extracted. */
  let onEmbed: () => Promise<void>;
  let onGraph: (text: string) => Promise<void>;
  let onDelivery: () => void;
  /** Called before index rows are written, before graphs are stored, and before a workflow is started. */
  let onWrite: () => Promise<void>;
  let onPut: () => Promise<void>;
  let onStart: (id: string) => void;
  const collections = collectionsDuringTests(databaseBeside(mongodbUri, 'item-groups'));
  beforeAll(async () => {
    installTemporalLogger(pino({ level: 'silent' }));
    index = createLanceIndex({ location: folder });
    await index.create(database_id);
    await collections.databases.insertOne(readyDatabase(database_id, org, 'notes'));
    await createRegistrations(collections, sealer()).register(org, 'https://example.com/', ['indexing.status_changed']);
  });
  afterAll(async () => {
    // The environments of the activities keep the SDK's runtime, which another test file may install.
    await Runtime.instance().shutdown();
    await extractor.close();
    await index?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    [started, announced, embedded] = [[], [], 0];
    onEmbed = async () => undefined;
    onGraph = async () => undefined;
    onDelivery = () => undefined;
    onWrite = async () => undefined;
    onPut = async () => undefined;
    onStart = () => undefined;
  });

  const sealer = () => createSealer(randomBytes(32).toString('base64'));

  function dependencies() {
    const graph = createGraphStore(collections);
    return {
      mongoClient: collections.mongoClient,
      itemGroups: createItemGroups(collections),
      databases: createDatabases(collections),
      databaseIndexes: createDatabaseIndexes(collections),
      items: createItems(collections),
      itemCatalogue: createItemCatalogue(collections),
      chunks: createChunks(collections),
      graph: {
        ...graph,
        async put(...stored: Parameters<typeof graph.put>) {
          await onPut();
          await graph.put(...stored);
        },
      },
      outdatedVersions: createOutdatedVersions(collections),
      clearOutdated,
      deliveries: createDeliveries(collections),
      registrations: createRegistrations(collections, sealer()),
      index: {
        ...index,
        async write(...change: Parameters<SearchIndex['write']>) {
          await onWrite();
          await index.write(...change);
        },
      },
      embedders: createEmbedders([
        {
          model: 'four',
          dimensions: 4,
          close: async () => undefined,
          embedQuery: async () => Float32Array.from([1, 0, 0, 0]),
          async embedDocuments(texts: readonly string[]) {
            await onEmbed();
            embedded += texts.length;
            return texts.map(() => Float32Array.from([1, 0, 0, 0]));
          },
        },
      ]),
      graphExtractor: {
        warmUp: () => undefined,
        async extract([chunk]: { chunk_id: string; text: string }[]) {
          await onGraph(chunk!.text);
          const mentions = [{ chunk_id: chunk!.chunk_id, sentence: chunk!.text }];
          return { entities: [{ name: 'Lamp', type: 'concept' as const, mentions }], relations: [] };
        },
      },
      starters: {
        startItem: async ({ id }: { id: string }) => {
          onStart(id);
          started.push(id);
        },
        startDelivery: async ({ doc_id }: { doc_id: string }) => void announced.push(doc_id),
        startDeliveries: async (deliveries: readonly { doc_id: string }[]) => {
          for (const { doc_id } of deliveries) {
            onDelivery();
            announced.push(doc_id);
          }
        },
      },
      files: createGridFsFiles(collections),
      scratch: createScratch({ dir: folder, self: identifySelf(), isAlive }),
      extractor,
      metrics: createWorkerMetrics(),
      runsAlone: createRunsAlone(),
      log: pino({ level: 'silent' }),
    };
  }
  /** Without the hooks of a run. */
  const clearOutdated = (ref: RemovalRef | null) =>
    createClearOutdated({
      removedItems: createRemovedItems({ ...collections, notifyInterrupted: async () => [] }),
      files: { remove: async () => undefined },
      chunks: createChunks(collections),
      graph: createGraphStore(collections),
      databaseIndexes: createDatabaseIndexes(collections),
      index,
      log: pino({ level: 'silent' }),
    })(ref);
  const activities = () => createItemGroupActivities(dependencies());

  /** The activity of an item that has a workflow of its own. */
  function indexSmallItem(ref: ItemRef) {
    const checkpoints = createCheckpointStore(collections);
    return createItemActivities({
      ...dependencies(),
      checkpoints,
      removedItems: createRemovedItems({ ...collections, notifyInterrupted: async () => [] }),
    }).indexSmallItem(ref);
  }

  const run = <Result>(activity: () => Promise<Result>, attempt = 1) =>
    new MockActivityEnvironment({ attempt }).run(activity);

  async function group(ids: readonly string[], fields: (id: string) => Partial<ItemRecord> = () => ({})) {
    const batch = newBatchId();
    const records = ids.map((id): ItemRecord => {
      const item = {
        org,
        database_id,
        database: 'notes',
        collection: 'default',
        batch,
        group: 0,
        id: `${id}/${batch}`,
        type: 'memory',
        title: null,
        source: { kind: 'text', text: `The ${id} of the lamp.` },
        metadata: {},
        additional_metadata: {},
      } as const;
      return { ...queuedItem(item, undefined, new Date()), ...fields(id) };
    });
    await collections.items.insertMany(records);
    const find = () => collections.items.find({ batch }).sort({ _id: 1 }).toArray();
    const keyOf = (id: string) => records.find((record) => record.id.startsWith(`${id}/`))!;
    const names = (list: readonly string[]) => list.map((id) => id.split('/')[0]).sort();
    return {
      ref: { org, batch, group: 0 },
      keyOf,
      names,
      statuses: async () => (await find()).map(({ indexing_status }) => indexing_status),
      find,
      /** Ids of the items that a search finds. */
      found: async () => {
        const request = { mode: 'text', query: 'lamp', operator: 'or', vector: null, limit: 100 } as const;
        const hits = await index.search(database_id, request);
        return names(hits.map(({ source_id }) => source_id).filter((id) => id.endsWith(`/${batch}`)));
      },
    };
  }

  test('passes through the statuses together, each item with a delivery and a graph', async () => {
    const { ref, statuses, found, names, find } = await group(['wick', 'oil', 'glass']);
    const seen: string[][] = [await statuses()];
    onEmbed = async () => void seen.push(await statuses());
    onGraph = async () => void seen.push(await statuses());
    const { indexTogether } = activities();
    expect(await run(() => indexTogether(ref))).toEqual({ completed: 3, dropped: 0, separated: 0 });
    seen.push(await statuses());
    const distinct = [...new Set(seen.map(String))];
    const all = (status: string) => String(Array(3).fill(status));
    expect(distinct).toEqual(['queued', 'processing', 'graph_creation', 'completed'].map(all));
    expect(names(announced)).toEqual(['glass', 'oil', 'wick']);
    expect(await found()).toEqual(['glass', 'oil', 'wick']);
    const keys = (await find()).map(({ _id }) => _id);
    expect(await collections.entities.countDocuments({ item: { $in: keys } })).toBe(3);
    expect((await find()).every((item) => item.runs === undefined && item.error_code === null)).toBe(true);
  });

  test('of files reads each of them; one that cannot be read leaves the group', async () => {
    const contents: Record<string, string> = {
      'lamp.txt': 'The lamp was lit at dusk.',
      'oil.md': '# Oil for the lamp\n\nThe oil burns.',
      'blank.txt': ' \n ',
    };
    const fileOf = (id: string): Partial<ItemRecord> => {
      const file_kind = id.endsWith('.md') ? 'markdown' : 'text';
      const size = contents[id]!.length;
      const source = {
        kind: 'file',
        file_id: `fil_${id}`,
        filename: id,
        file_kind,
        mime_type: 'text/plain',
        size,
      } as const;
      return { source };
    };
    const { ref, keyOf, found, names } = await group(Object.keys(contents), fileOf);
    const files = createGridFsFiles(collections);
    for (const [id, content] of Object.entries(contents)) {
      await files.write(`fil_${id}`, { org, batch: ref.batch }, Readable.from([Buffer.from(content)]));
    }
    const { indexTogether } = activities();
    expect(await run(() => indexTogether(ref))).toEqual({ completed: 2, dropped: 0, separated: 1 });
    expect(names(started)).toEqual(['blank.txt']);
    expect(names(announced)).toEqual(['lamp.txt', 'oil.md']);
    expect(await found()).toEqual(['lamp.txt', 'oil.md']);
    const oil = { item: keyOf('oil.md')._id };
    expect(await collections.items.findOne({ _id: oil.item })).toMatchObject({ title: 'Oil for the lamp' });
    expect(await collections.chunks.findOne(oil)).toMatchObject({ title: 'Oil for the lamp', text: 'The oil burns.' });
    const { _id: item, version, database_id } = keyOf('blank.txt');
    await expect(run(() => indexSmallItem({ item, version, org, database_id }))).rejects.toMatchObject({
      type: 'E2004',
    });
  });

  test('is retried when a file cannot be fetched, and none of its items leaves it', async () => {
    const missing = (id: string): Partial<ItemRecord> => {
      const source = {
        kind: 'file',
        file_id: `fil_${id}`,
        filename: id,
        file_kind: 'text',
        mime_type: 'text/plain',
        size: 9,
      } as const;
      return { source };
    };
    const { ref, find } = await group(['gone.txt', 'lost.txt'], missing);
    const { indexTogether } = activities();
    await expect(run(() => indexTogether(ref))).rejects.toMatchObject({ type: 'E6001', nonRetryable: false });
    expect((await find()).map(({ error_code, group: number }) => [error_code, number])).toEqual(
      Array(2).fill(['E6001', 0]),
    );
    expect(started).toEqual([]);
  });

  test('drops items that are deleted or replaced while it runs, with all their data', async () => {
    const { ref, keyOf, found, names } = await group(['kept', 'deleted', 'replaced', 'late']);
    const replace = (id: string) =>
      collections.items.updateOne({ _id: keyOf(id)._id }, { $set: { version: 2, batch: newBatchId() } });
    onEmbed = async () => {
      await collections.items.deleteOne({ _id: keyOf('deleted')._id });
      await replace('replaced');
    };
    onGraph = async (text) => {
      if (text.includes('late')) await replace('late');
    };
    const { indexTogether } = activities();
    expect(await run(() => indexTogether(ref))).toEqual({ completed: 1, dropped: 3, separated: 0 });
    expect(await found()).toEqual(['kept']);
    expect(names(announced)).toEqual(['kept']);
    for (const id of ['deleted', 'replaced', 'late']) {
      const { _id: item } = keyOf(id);
      expect(await collections.chunks.countDocuments({ item })).toBe(0);
      expect(await collections.entities.countDocuments({ item })).toBe(0);
    }
    expect(started).toEqual([]);
  });

  test('keeps the data of items that another run completes first', async () => {
    const { ref, keyOf, found, names } = await group(['early', 'late', 'own']);
    const complete = (id: string) =>
      collections.items.updateOne({ _id: keyOf(id)._id }, { $set: { indexing_status: 'completed' } });
    const { indexTogether } = activities();
    // The run that completes them has stored the same.
    onPut = () => Promise.reject(new Error('the disk is full'));
    await expect(run(() => indexTogether(ref))).rejects.toMatchObject({ type: 'E6001' });
    onPut = async () => undefined;
    onWrite = async () => void (await complete('early'));
    onGraph = async (text) => {
      if (text.includes('late')) await complete('late');
    };
    expect(await run(() => indexTogether(ref), 2)).toEqual({ completed: 1, dropped: 2, separated: 0 });
    expect(await found()).toEqual(['early', 'late', 'own']);
    for (const id of ['early', 'late']) {
      expect(await collections.chunks.countDocuments({ item: keyOf(id)._id })).toBe(1);
    }
    expect([names(announced), started]).toEqual([['own'], []]);
  });

  test('a single item that another run completes first returns its outcome and keeps its data', async () => {
    const { keyOf, found } = await group(['wick']);
    const { _id: item, version, org, database_id } = keyOf('wick');
    onGraph = async () =>
      void (await collections.items.updateOne({ _id: item }, { $set: { indexing_status: 'completed' } }));
    for (const attempt of [1, 2]) {
      expect(await run(() => indexSmallItem({ item, version, org, database_id }), attempt)).toEqual({
        status: 'completed',
      });
      expect([await found(), await collections.chunks.countDocuments({ item })]).toEqual([['wick'], 1]);
    }
  });

  test('leaves no row of an item that is deleted while its rows are written', async () => {
    const { ref, keyOf, found } = await group(['kept', 'deleted']);
    const { _id: item } = keyOf('deleted');
    const remove = async () => {
      await collections.items.deleteOne({ _id: item });
      await collections.chunks.deleteMany({ item });
    };
    onWrite = remove;
    const { indexTogether } = activities();
    expect(await run(() => indexTogether(ref))).toEqual({ completed: 1, dropped: 1, separated: 0 });
    expect(await found()).toEqual(['kept']);
  });

  test('leaves nothing of an item that is deleted before its attempt fails', async () => {
    const { ref, keyOf, found } = await group(['kept', 'deleted']);
    const { _id: item } = keyOf('deleted');
    const { indexTogether } = activities();
    onPut = async () => {
      await collections.items.deleteOne({ _id: item });
      throw new Error('the disk is full');
    };
    await expect(run(() => indexTogether(ref))).rejects.toMatchObject({ type: 'E6001' });
    expect(await found()).toEqual(['kept']);
    expect(await collections.chunks.countDocuments({ item })).toBe(0);
    onPut = async () => undefined;
    expect(await run(() => indexTogether(ref), 2)).toEqual({ completed: 1, dropped: 0, separated: 0 });
    expect(await found()).toEqual(['kept']);
  });

  test('replaces the chunks, rows and graph of the version before', async () => {
    const before = await group(['first']);
    const { indexTogether } = activities();
    await run(() => indexTogether(before.ref));
    const { _id } = before.keyOf('first');
    const batch = newBatchId();
    await collections.items.updateOne(
      { _id },
      { $set: { version: 2, batch, indexing_status: 'queued', source: { kind: 'text', text: 'Another lamp.' } } },
    );
    expect(await run(() => indexTogether({ org, batch, group: 0 }))).toMatchObject({ completed: 1 });
    expect(await collections.chunks.distinct('version', { item: _id })).toEqual([2]);
    expect(await collections.entities.distinct('version', { item: _id })).toEqual([2]);
    expect(await before.found()).toEqual(['first']);
  });

  test('an item that fails leaves the group, and no run of it counts as lost', async () => {
    const noText = (id: string): Partial<ItemRecord> =>
      id === 'empty' ? { source: { kind: 'text', text: ' \n ' } } : {};
    const { ref, keyOf, names, statuses } = await group(['well', 'empty'], noText);
    const { indexTogether } = activities();
    expect(await run(() => indexTogether(ref))).toEqual({ completed: 1, dropped: 0, separated: 1 });
    expect(names(started)).toEqual(['empty']);
    expect((await statuses()).sort()).toEqual(['completed', 'processing']);
    const left = (await collections.items.findOne({ _id: keyOf('empty')._id }))!;
    expect([left.group, left.runs]).toEqual([undefined, undefined]);
  });

  test('an item whose graph cannot be extracted leaves the group', async () => {
    const { ref, names, keyOf } = await group(['well', 'odd']);
    onGraph = async (text) => {
      if (text.includes('odd')) throw new Error('not a sentence');
    };
    const { indexTogether } = activities();
    expect(await run(() => indexTogether(ref))).toEqual({ completed: 1, dropped: 0, separated: 1 });
    expect(names(started)).toEqual(['odd']);
    expect((await collections.items.findOne({ _id: keyOf('odd')._id }))!.runs).toBeUndefined();
  });

  test('an item that loses its process leaves the group, and keeps its count', async () => {
    const lost = (id: string): Partial<ItemRecord> => (id === 'lost' ? { runs: { step: 'index', begun: 2 } } : {});
    const { ref, keyOf, names } = await group(['well', 'lost', 'poison'], lost);
    onGraph = async (text) => {
      if (text.includes('poison')) throw new ProcessLostError('killed');
    };
    const { indexTogether } = activities();
    expect(await run(() => indexTogether(ref))).toEqual({ completed: 1, dropped: 0, separated: 2 });
    expect(names(started)).toEqual(['lost', 'poison']);
    const runsOf = async (id: string) => (await collections.items.findOne({ _id: keyOf(id)._id }))!.runs;
    expect(await runsOf('lost')).toEqual({ step: 'index', begun: 2 });
    expect(await runsOf('poison')).toEqual({ step: 'index', begun: 1, crashed: 1 });
  });

  test('items whose run was lost with the worker run again one after the other, so that only the cause is counted again', async () => {
    const { ref, find, names } = await group(['wick', 'oil', 'lens'], () => ({ runs: { step: 'index', begun: 1 } }));
    const counts: number[] = [];
    onGraph = async () => {
      const items = await find();
      counts.push(items.filter(({ runs }) => runs?.begun === 2).length);
    };
    const { indexTogether } = activities();
    expect(await run(() => indexTogether(ref), 2)).toEqual({ completed: 3, dropped: 0, separated: 0 });
    expect(counts).toEqual([1, 1, 1]);
    expect([names(started), names(announced)]).toEqual([[], ['lens', 'oil', 'wick']]);
  });

  test('a lost run counts also when storage fails after it', async () => {
    const { ref, keyOf } = await group(['well', 'poison']);
    onGraph = async (text) => {
      if (text.includes('poison')) throw new ProcessLostError('killed');
    };
    onPut = () => Promise.reject(new Error('the disk is full'));
    const { indexTogether } = activities();
    await expect(run(() => indexTogether(ref))).rejects.toMatchObject({ type: 'E6001' });
    const runsOf = async (id: string) => (await collections.items.findOne({ _id: keyOf(id)._id }))!.runs;
    expect([await runsOf('poison'), await runsOf('well')]).toEqual([
      { step: 'index', begun: 1, crashed: 1 },
      undefined,
    ]);
  });

  test('is retried when storage fails: E6001 is shown, no status goes back, and nothing is embedded or stored twice', async () => {
    const { ref, find, found, statuses } = await group(['wick', 'oil']);
    const { indexTogether } = activities();
    onPut = () => Promise.reject(new Error('the disk is full'));
    await expect(run(() => indexTogether(ref))).rejects.toMatchObject({ type: 'E6001', nonRetryable: false });
    expect((await find()).map((item) => [item.indexing_status, item.error_code, item.runs])).toEqual(
      Array(2).fill(['graph_creation', 'E6001', undefined]),
    );
    onPut = async () => undefined;
    onGraph = async () => expect(await statuses()).toEqual(Array(2).fill('graph_creation'));
    expect(await run(() => indexTogether(ref), 2)).toMatchObject({ completed: 2 });
    expect(embedded).toBe(2);
    expect(await found()).toEqual(['oil', 'wick']);
    const keys = (await find()).map(({ _id }) => _id);
    expect(await collections.chunks.countDocuments({ item: { $in: keys } })).toBe(2);
    expect(await collections.entities.countDocuments({ item: { $in: keys } })).toBe(2);
  });

  test('is divided when the embedding model stays unavailable, or a defect stops it', async () => {
    const { ref, names, find } = await group(['wick', 'oil']);
    const { indexTogether, separateItems } = activities();
    onEmbed = () => Promise.reject(new EmbeddingError('no answer', true));
    await expect(run(() => indexTogether(ref))).rejects.toMatchObject({ type: 'E3001', nonRetryable: false });
    expect((await find()).map(({ error_code }) => error_code)).toEqual(['E3001', 'E3001']);
    await expect(run(() => indexTogether(ref), 3)).rejects.toMatchObject({ type: 'E3001', nonRetryable: true });
    onEmbed = () => Promise.reject(new TypeError('not a function'));
    await expect(run(() => indexTogether(ref))).rejects.toMatchObject({ nonRetryable: true });
    expect(await run(() => separateItems(ref))).toMatchObject({ separated: 2 });
    expect(names(started)).toEqual(['oil', 'wick']);
    expect(await run(() => indexTogether(ref))).toEqual({ completed: 0, dropped: 0, separated: 0 });
  });

  test('is divided when storage rejects it again and again: one item may be the cause', async () => {
    const { ref, names, find } = await group(['wick', 'oil']);
    const { indexTogether, separateItems } = activities();
    onWrite = () => Promise.reject(new Error('not a row'));
    await expect(run(() => indexTogether(ref), 5)).rejects.toMatchObject({ type: 'E6001', nonRetryable: false });
    await expect(run(() => indexTogether(ref), 6)).rejects.toMatchObject({ type: 'E6001', nonRetryable: true });
    onStart = (id) => {
      if (id.startsWith('oil')) throw new Error('Temporal does not respond');
    };
    await expect(run(() => separateItems(ref), 20)).rejects.toMatchObject({ type: 'E6001', nonRetryable: false });
    expect((await find()).flatMap(({ id, group: number }) => (number === 0 ? names([id]) : []))).toEqual(['oil']);
    onStart = () => undefined;
    expect(await run(() => separateItems(ref), 21)).toMatchObject({ separated: 1 });
    expect(names(started)).toEqual(['oil', 'wick']);
  });

  test('starts the deliveries that an attempt stored before it was lost', async () => {
    const { ref, names } = await group(['wick', 'oil']);
    const { indexTogether } = activities();
    onDelivery = () => {
      throw new Error('Temporal does not respond');
    };
    await expect(run(() => indexTogether(ref))).rejects.toMatchObject({ nonRetryable: false });
    onDelivery = () => undefined;
    expect(await run(() => indexTogether(ref), 2)).toEqual({ completed: 0, dropped: 0, separated: 0 });
    expect(names(announced)).toEqual(['oil', 'wick']);
    const stored = { doc_id: { $in: [...announced] } };
    expect(await collections.deliveries.countDocuments(stored)).toBe(2);
    // Those that were attempted have been started.
    announced = [];
    await collections.deliveries.updateOne(stored, { $set: { attempts: 1 } });
    await run(() => indexTogether(ref), 3);
    expect(announced).toHaveLength(1);
  });
});
