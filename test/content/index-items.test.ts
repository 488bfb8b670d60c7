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
import { createIndexItemsActivities } from '../../activities/content/index-items.js';
import { createRunsAlone } from '../../activities/content/item-runs.js';
import { createEmbedders } from '../../domain/content/embedding-models.js';
import type { SearchIndex } from '../../domain/content/search.js';
import { type RemovalRef, refOf, SUPERSEDED } from '../../domain/content/workflow-contract.js';
import { EmbeddingError } from '../../domain/errors.js';
import { chunkOwner, newBatchId } from '../../domain/ids.js';
import { createSealer } from '../../domain/sealing.js';
import { ProcessLostError } from '../../providers/isolation/protocol.js';
import { identifySelf, isAlive } from '../../runtime/process-identity.js';
import { createChunks } from '../../storage/content/chunks.js';
import { createDatabaseIndexes } from '../../storage/content/database-indexes.js';
import { createDatabases } from '../../storage/content/databases.js';
import { createGraphStore } from '../../storage/content/graph.js';
import { createItemCatalogue } from '../../storage/content/item-catalogue.js';
import { queuedItem } from '../../storage/content/item-queue.js';
import { createItems, type ItemRecord } from '../../storage/content/items.js';
import { createRemovedItems } from '../../storage/content/removed-items.js';
import { createLanceIndex } from '../../storage/content/search-index/lancedb/index.js';
import { createGridFsFiles } from '../../storage/files/gridfs.js';
import { createScratch } from '../../storage/scratch.js';
import { createDeliveries } from '../../storage/webhooks/deliveries.js';
import { createRegistrations } from '../../storage/webhooks/registrations.js';
import { installTemporalLogger } from '../../worker/logging.js';
import { createWorkerMetrics } from '../../worker/metrics.js';
import { collectionsDuringTests } from '../support/during-tests.js';
import { startExtractor } from '../support/extractor.js';
import { databaseBeside, sharedProduct } from '../support/product.js';
import { readyDatabase } from '../support/records.js';

describe('small items that are indexed together', () => {
  const { mongodbUri } = sharedProduct();
  const folder = mkdtempSync(join(tmpdir(), 'postback-groups-'));
  const org = 'groups';
  const database_id = 'tnt_groups';
  const extractor = startExtractor({ processes: 1 });
  let index: SearchIndex;
  /** What the activities met: deliveries that were started, and the number of texts that were embedded. */
  let announced: string[];
  let embedded: number;
  /** Called while the texts are embedded, and while the graph of a text is extracted. */
  let onEmbed: () => Promise<void>;
  let onGraph: (text: string) => Promise<void>;
  let onDelivery: () => void;
  /** Called before index rows are written, and before graphs are stored. */
  let onWrite: () => Promise<void>;
  let onPut: () => Promise<void>;
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
    [announced, embedded] = [[], 0];
    onEmbed = async () => undefined;
    onGraph = async () => undefined;
    onDelivery = () => undefined;
    onWrite = async () => undefined;
    onPut = async () => undefined;
  });

  const sealer = () => createSealer(randomBytes(32).toString('base64'));

  const notified = () => ({
    deliveries: createDeliveries(collections),
    registrations: createRegistrations(collections, sealer()),
  });

  function dependencies() {
    const graph = createGraphStore(collections);
    return {
      mongoClient: collections.mongoClient,
      now: collections.now,
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
      clearOutdated,
      ...notified(),
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
        async extract([chunk]: { chunk_id: string; text: string }[]) {
          await onGraph(chunk!.text);
          const mentions = [{ chunk_id: chunk!.chunk_id, sentence: chunk!.text }];
          return { entities: [{ name: 'Lamp', type: 'concept' as const, mentions }], relations: [] };
        },
      },
      starters: {
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
      removedItems: createRemovedItems({ ...collections, ...notified() }),
      log: pino({ level: 'silent' }),
    };
  }
  /** Without the hooks of a run. */
  const clearOutdated = (ref: RemovalRef | null) =>
    createClearOutdated({
      removedItems: createRemovedItems({ ...collections, ...notified() }),
      files: { remove: async () => undefined },
      chunks: createChunks(collections),
      graph: createGraphStore(collections),
      databaseIndexes: createDatabaseIndexes(collections),
      index,
      log: pino({ level: 'silent' }),
    })(ref);
  const activities = () => createIndexItemsActivities(dependencies());

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
    const nameOf = (id: string) => ({ item: keyOf(id)._id, version: keyOf(id).version });
    return {
      ref: { org, database_id, items: ids.map(nameOf) },
      refOf: (id: string) => refOf(keyOf(id)),
      nameOf,
      batch,
      keyOf,
      names,
      statuses: async () => (await find()).map(({ indexing_status }) => indexing_status),
      find,
      /** Ids of the items that a search finds. */
      found: async () => {
        const request = { mode: 'text', query: 'lamp', operator: 'or', vector: null, limit: 100 } as const;
        const hits = await index.search(database_id, request);
        const ids = new Map(records.map(({ _id, id }) => [_id, id]));
        return names(hits.flatMap(({ chunk_id }) => ids.get(chunkOwner(chunk_id).item) ?? []));
      },
    };
  }

  const ended = (counts: { completed?: number; dropped?: number }) => ({
    completed: 0,
    dropped: 0,
    errored: [],
    left: [],
    ...counts,
  });

  test('pass through the statuses together, each with a delivery and a graph', async () => {
    const { ref, statuses, found, names, find } = await group(['wick', 'oil', 'glass']);
    const seen: string[][] = [await statuses()];
    onEmbed = async () => void seen.push(await statuses());
    onGraph = async () => void seen.push(await statuses());
    const { indexTogether } = activities();
    expect(await run(() => indexTogether(ref))).toEqual(ended({ completed: 3 }));
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

  test('are read each, when they are files; one without text is errored, and the others complete', async () => {
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
    const { ref, batch, keyOf, nameOf, found, names } = await group(Object.keys(contents), fileOf);
    const files = createGridFsFiles(collections);
    for (const [id, content] of Object.entries(contents)) {
      await files.write(`fil_${id}`, { org, batch }, Readable.from([Buffer.from(content)]));
    }
    const { indexTogether } = activities();
    expect(await run(() => indexTogether(ref))).toEqual({
      ...ended({ completed: 2 }),
      errored: [{ ...nameOf('blank.txt'), error_code: 'E2004', error_message: expect.any(String) }],
    });
    expect(names(announced)).toEqual(['blank.txt', 'lamp.txt', 'oil.md']);
    expect(await found()).toEqual(['lamp.txt', 'oil.md']);
    const oil = { item: keyOf('oil.md')._id };
    expect(await collections.items.findOne({ _id: oil.item })).toMatchObject({ title: 'Oil for the lamp' });
    expect(await collections.chunks.findOne(oil)).toMatchObject({ title: 'Oil for the lamp', text: 'The oil burns.' });
    const blank = { _id: keyOf('blank.txt')._id };
    expect(await collections.items.findOne(blank)).toMatchObject({ indexing_status: 'errored', error_code: 'E2004' });
  });

  test('are retried when a file cannot be fetched', async () => {
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
    expect((await find()).map(({ error_code }) => error_code)).toEqual(['E6001', 'E6001']);
  });

  test('are dropped with all their data when they are deleted or replaced meanwhile', async () => {
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
    expect(await run(() => indexTogether(ref))).toEqual(ended({ completed: 1, dropped: 3 }));
    expect(await found()).toEqual(['kept']);
    expect(names(announced)).toEqual(['kept']);
    for (const id of ['deleted', 'replaced', 'late']) {
      const { _id: item } = keyOf(id);
      expect(await collections.chunks.countDocuments({ item })).toBe(0);
      expect(await collections.entities.countDocuments({ item })).toBe(0);
    }
  });

  test('end when their database is being deleted', async () => {
    const { ref, refOf: version, find } = await group(['wick', 'oil', 'alone']);
    const closed = () => createIndexItemsActivities({ ...dependencies(), databases: { isOpen: async () => false } });
    const { item } = version('alone');
    const others = { ...ref, items: ref.items.filter((each) => each.item !== item) };
    expect(await run(() => closed().indexTogether(others))).toEqual(ended({ dropped: 2 }));
    expect(await run(() => closed().indexAlone(version('alone')))).toBe(SUPERSEDED);
    expect(await find()).toEqual([]);
  });

  test('keep their data when another run completes them first', async () => {
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
    expect(await run(() => indexTogether(ref), 2)).toEqual(ended({ completed: 3 }));
    expect(await found()).toEqual(['early', 'late', 'own']);
    for (const id of ['early', 'late']) {
      expect(await collections.chunks.countDocuments({ item: keyOf(id)._id })).toBe(1);
    }
    expect(names(announced)).toEqual(['own']);
  });

  test('keep their data when another run completes them while they run alone', async () => {
    const { refOf: version, found } = await group(['wick']);
    const { item } = version('wick');
    onGraph = async () =>
      void (await collections.items.updateOne({ _id: item }, { $set: { indexing_status: 'completed' } }));
    const { indexAlone } = activities();
    for (const attempt of [1, 2]) {
      expect(await run(() => indexAlone(version('wick')), attempt)).toEqual({ status: 'completed' });
      expect([await found(), await collections.chunks.countDocuments({ item })]).toEqual([['wick'], 1]);
    }
  });

  test('keep what is served when a run whose end was lost is repeated after they were replaced', async () => {
    const { ref, keyOf, refOf: version, found } = await group(['wick', 'oil']);
    const { indexTogether, indexAlone } = activities();
    expect(await run(() => indexTogether(ref))).toEqual(ended({ completed: 2 }));
    const keys = ref.items.map(({ item }) => item);
    await collections.items.updateMany({ _id: { $in: keys } }, { $set: { version: 2, indexing_status: 'queued' } });
    expect(await run(() => indexTogether(ref), 2)).toEqual(ended({}));
    expect(await run(() => indexAlone(version('wick')), 2)).toBe(SUPERSEDED);
    expect(await found()).toEqual(['oil', 'wick']);
    expect(await collections.chunks.distinct('item', { item: { $in: keys } })).toEqual([...keys].sort());
    expect(await collections.entities.countDocuments({ item: keyOf('wick')._id })).toBe(1);
  });

  test('leave nothing of a run that was killed before they were deleted', async () => {
    const { ref, keyOf, found } = await group(['kept', 'deleted']);
    const { _id: item } = keyOf('deleted');
    const { indexTogether } = activities();
    // What the killed run has written.
    onGraph = () => Promise.reject(new Error('the worker was killed'));
    await run(() => indexTogether(ref));
    onGraph = async () => undefined;
    expect(await collections.chunks.countDocuments({ item })).toBe(1);
    await collections.items.deleteOne({ _id: item });
    await run(() => indexTogether(ref), 2);
    expect(await found()).not.toContain('deleted');
    expect(await collections.chunks.countDocuments({ item })).toBe(0);
  });

  test('leave no row when they are deleted while rows are written', async () => {
    const { ref, keyOf, found } = await group(['kept', 'deleted']);
    const { _id: item } = keyOf('deleted');
    const remove = async () => {
      await collections.items.deleteOne({ _id: item });
      await collections.chunks.deleteMany({ item });
    };
    onWrite = remove;
    const { indexTogether } = activities();
    expect(await run(() => indexTogether(ref))).toEqual(ended({ completed: 1, dropped: 1 }));
    expect(await found()).toEqual(['kept']);
  });

  test('leave nothing when they are deleted before their attempt fails', async () => {
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
    expect(await run(() => indexTogether(ref), 2)).toEqual(ended({ completed: 1 }));
    expect(await found()).toEqual(['kept']);
  });

  test('replace the chunks, rows and graphs of the versions before, beside items of other versions', async () => {
    const before = await group(['first']);
    const { indexTogether } = activities();
    await run(() => indexTogether(before.ref));
    const { _id } = before.keyOf('first');
    const source = { kind: 'text', text: 'Another lamp.' } as const;
    await collections.items.updateOne({ _id }, { $set: { version: 2, indexing_status: 'queued', source } });
    const beside = await group(['beside']);
    const items = [{ item: _id, version: 2 }, ...beside.ref.items];
    expect(await run(() => indexTogether({ ...before.ref, items }))).toEqual(ended({ completed: 2 }));
    expect(await collections.chunks.distinct('version', { item: _id })).toEqual([2]);
    expect(await collections.entities.distinct('version', { item: _id })).toEqual([2]);
    expect([await before.found(), await beside.found()]).toEqual([['first'], ['beside']]);
    // The version before is not indexed again.
    expect(await run(() => indexTogether(before.ref))).toEqual(ended({}));
  });

  test('are left when their graph cannot be extracted, and no run of them counts as lost; the others complete', async () => {
    const { ref, nameOf, keyOf } = await group(['well', 'odd']);
    onGraph = async (text) => {
      if (text.includes('odd')) throw new Error('not a sentence');
    };
    const { indexTogether } = activities();
    expect(await run(() => indexTogether(ref))).toEqual({ ...ended({ completed: 1 }), left: [nameOf('odd')] });
    expect((await collections.items.findOne({ _id: keyOf('odd')._id }))!).toMatchObject({ error_code: 'E6001' });
    expect((await collections.items.findOne({ _id: keyOf('odd')._id }))!.runs).toBeUndefined();
  });

  test('are left when they lost their process, and keep their counts', async () => {
    const lost = (id: string): Partial<ItemRecord> => (id === 'lost' ? { runs: { step: 'index', begun: 1 } } : {});
    const { ref, keyOf, nameOf } = await group(['well', 'lost', 'poison'], lost);
    onGraph = async (text) => {
      if (text.includes('poison')) throw new ProcessLostError('killed');
    };
    const { indexTogether } = activities();
    expect(await run(() => indexTogether(ref))).toEqual({
      ...ended({ completed: 1 }),
      left: [nameOf('lost'), nameOf('poison')],
    });
    const runsOf = async (id: string) => (await collections.items.findOne({ _id: keyOf(id)._id }))!.runs;
    expect(await runsOf('lost')).toEqual({ step: 'index', begun: 1 });
    expect(await runsOf('poison')).toEqual({ step: 'index', begun: 1, crashed: 1 });
  });

  test('whose process was lost three times are errored with E2003, and nothing of them is found', async () => {
    const { ref, refOf: version, found, keyOf } = await group(['poison']);
    onGraph = () => Promise.reject(new ProcessLostError('killed'));
    const { indexTogether, indexAlone } = activities();
    await run(() => indexTogether(ref));
    const { _id } = keyOf('poison');
    expect(await collections.items.findOne({ _id })).toMatchObject({
      indexing_status: 'graph_creation',
      error_code: 'E2003',
    });
    for (const attempt of [1, 2]) {
      const again = run(() => indexAlone(version('poison')), attempt);
      await expect(again).rejects.toMatchObject({ type: 'E2003', nonRetryable: false });
    }
    const outcome = { status: 'errored', error_code: 'E2003' };
    expect(await run(() => indexAlone(version('poison')), 3)).toMatchObject(outcome);
    expect(await collections.items.findOne({ _id })).toMatchObject({ indexing_status: 'errored', error_code: 'E2003' });
    expect([await found(), await collections.chunks.countDocuments({ item: _id })]).toEqual([[], 0]);
  });

  test('whose run was lost with the worker run one after the other, so that only the cause is counted again', async () => {
    const {
      ref,
      refOf: version,
      find,
      names,
    } = await group(['wick', 'oil', 'lens'], () => ({
      runs: { step: 'index', begun: 1 },
    }));
    const counts: number[] = [];
    onGraph = async () => {
      const items = await find();
      counts.push(items.filter(({ runs }) => runs?.begun === 2).length);
    };
    const { indexTogether, indexAlone } = activities();
    expect(await run(() => indexTogether(ref), 2)).toMatchObject({ left: [{}, {}, {}] });
    await Promise.all(['wick', 'oil', 'lens'].map((id) => run(() => indexAlone(version(id)))));
    expect(counts).toEqual([1, 1, 1]);
    expect(names(announced)).toEqual(['lens', 'oil', 'wick']);
  });

  test('whose run was lost do not wait for those of another organisation or of another step', async () => {
    const runs = createRunsAlone();
    const never = new AbortController().signal;
    const order: string[] = [];
    let end = () => {};
    const long = runs.run('busy', 'embed', never, () => new Promise<void>((resolve) => (end = resolve)));
    const cancelled = new AbortController();
    const waiting = runs.run('busy', 'embed', cancelled.signal, async () => order.push('never'));
    const next = runs.run('busy', 'embed', never, async () => order.push('the next of the same'));
    await runs.run('busy', 'index', never, async () => order.push('another step'));
    await runs.run('other', 'embed', never, async () => order.push('another organisation'));
    cancelled.abort(new Error('deleted'));
    await expect(waiting).rejects.toThrow('deleted');
    end();
    await Promise.all([long, next]);
    expect(order).toEqual(['another step', 'another organisation', 'the next of the same']);
  });

  test('count a lost run also when storage fails after it', async () => {
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

  test('are retried when storage fails: E6001 is shown, no status goes back, and nothing is embedded or stored twice', async () => {
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

  test('show that the embedding model is unavailable, and are errored with E3001 after the last attempt alone', async () => {
    const { ref, refOf: version, find } = await group(['wick', 'oil']);
    const { indexTogether, indexAlone } = activities();
    onEmbed = () => Promise.reject(new EmbeddingError('no answer', true));
    await expect(run(() => indexTogether(ref))).rejects.toMatchObject({ type: 'E3001', nonRetryable: false });
    expect((await find()).map(({ error_code }) => error_code)).toEqual(['E3001', 'E3001']);
    const last = { status: 'errored', error_code: 'E3001' };
    expect(await run(() => indexAlone(version('wick')), 10)).toMatchObject(last);
    onEmbed = async () => undefined;
    expect(await run(() => indexTogether(ref), 2)).toEqual(ended({ completed: 1 }));
  });

  test('are errored by a defect after the last attempt alone, without the text of its error', async () => {
    const { refOf: version, find } = await group(['wick']);
    const { indexAlone } = activities();
    onEmbed = () => Promise.reject(new TypeError('not a function'));
    await expect(run(() => indexAlone(version('wick')))).rejects.toMatchObject({ nonRetryable: false });
    const error_message = 'The item could not be indexed because of an internal error.';
    const outcome = { status: 'errored', error_code: 'INTERNAL_ERROR', error_message };
    expect(await run(() => indexAlone(version('wick')), 5)).toEqual(outcome);
    expect(await find()).toMatchObject([{ indexing_status: 'errored', error_code: 'INTERNAL_ERROR', error_message }]);
  });

  test('are not indexed again after an attempt that was lost when it had stored their deliveries', async () => {
    const { ref, refOf: version, keyOf, statuses } = await group(['wick', 'oil']);
    const { indexTogether, indexAlone } = activities();
    onDelivery = () => {
      throw new Error('Temporal does not respond');
    };
    await expect(run(() => indexTogether(ref))).rejects.toMatchObject({ nonRetryable: false });
    expect(await statuses()).toEqual(['completed', 'completed']);
    // A local activity is repeated as a first attempt.
    expect(await run(() => indexTogether(ref), 1)).toEqual(ended({}));
    expect(await run(() => indexAlone(version('wick')))).toEqual({ status: 'completed' });
    expect(embedded).toBe(2);
    // The sender finds both by itself.
    const due = { status: 'pending', next_attempt_at: { $lte: collections.now() } } as const;
    const doc_id = { $in: [keyOf('wick').id, keyOf('oil').id] };
    expect(await collections.deliveries.countDocuments({ doc_id, ...due })).toBe(2);
  });
});
