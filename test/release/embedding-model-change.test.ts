import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connect } from '@lancedb/lancedb';
import { tableOf } from '../../domain/content/index-generations.js';
import type { ChunkRecord } from '../../storage/content/chunks.js';
import type { DatabaseRecord } from '../../storage/content/databases.js';
import type { ItemRecord } from '../../storage/content/items.js';
import type { Client } from '../support/client.js';
import { runCommand } from '../support/command.js';
import { eventually } from '../support/eventually.js';
import { logWith } from '../support/logs.js';
import { type OpenAiServer, type RecordedRequest, sendJson, startOpenAiServer } from '../support/openai-server.js';
import { clientOf } from '../support/organisation.js';
import { type Product, startProcesses, startProcessesAgain, withDb } from '../support/product.js';
import { reconcile } from '../support/reconcile.js';

const run = promisify(execFile);

const COMPLETED = { indexing_status: 'completed' } as const;

/** @returns a word of its own for each number */
const letters = (n: number) => [...String(n)].map((digit) => 'abcdefghij'[Number(digit)]).join('');

/** The body of `POST /embeddings`. */
interface Embedding {
  model: string;
  input: string[];
  dimensions: number;
}

const NAME = 'model-change';

// Starts its processes with other models, over the shared servers.
describe('a change of the embedding model', () => {
  let product: Product;
  let server: OpenAiServer;
  let api: Client;

  /** Vectors of words, so that texts with the same words are close. */
  function vectorOf(text: string, dimensions: number): number[] {
    const vector = new Array<number>(dimensions).fill(0.01);
    for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
      let hash = 7;
      for (const letter of word) hash = (hash * 31 + letter.charCodeAt(0)) % 65_521;
      vector[hash % dimensions]! += 1;
    }
    return vector;
  }

  const settings = (model: string, dimensions: number, previous?: [string, number]) => ({
    POSTBACK_EMBEDDINGS_URL: server.baseUrl,
    POSTBACK_EMBEDDINGS_MODEL: model,
    POSTBACK_EMBEDDINGS_DIMENSIONS: String(dimensions),
    ...(previous
      ? {
          POSTBACK_PREVIOUS_EMBEDDINGS_URL: server.baseUrl,
          POSTBACK_PREVIOUS_EMBEDDINGS_MODEL: previous[0],
          POSTBACK_PREVIOUS_EMBEDDINGS_DIMENSIONS: String(previous[1]),
        }
      : {}),
  });

  /** While it is set, the server answers no request with more than one text. */
  let gate: Promise<void> | undefined;
  /** Whether the server rejects the key. */
  let revoked = false;

  beforeAll(async () => {
    server = await startOpenAiServer();
    server.respondWith(async (request, response) => {
      const { model, input, dimensions } = request.json() as unknown as Embedding;
      if (revoked) return sendJson(response, {}, 401);
      if (model === 'second' && input.some((text) => text.includes('unacceptable'))) return sendJson(response, {}, 400);
      if (input.length > 1) await gate;
      const data = input.map((text, index) => ({ index, embedding: vectorOf(text, dimensions) }));
      sendJson(response, { object: 'list', model, data });
    });
    // With the embedded model, in the embedding process of the shared product.
    product = await startProcesses(NAME);
    api = await clientOf(NAME, product);
    await api.createDatabase('library');
    await api.ingest({
      database: 'library',
      memories: JSON.stringify([
        { id: 'otter', text: 'The otter swims in the river.' },
        { id: 'kiln', text: 'The kiln is hot.' },
        { id: 'odd', text: 'Some unacceptable words.' },
      ]),
    });
    for (const id of ['otter', 'kiln', 'odd']) await api.ended('library', id);
  });
  afterAll(async () => {
    await product?.remove();
    await server?.close();
  });

  /** Stops the processes and starts them again, on the same data. */
  async function restart(changed: Record<string, string>): Promise<void> {
    await product.stop();
    product = await startProcessesAgain(NAME, { ...changed, POSTBACK_DATA_DIR: product.dataDir });
    api = await clientOf(NAME, product);
  }

  const commandSettings = () => ({
    POSTBACK_DATA_DIR: product.dataDir,
    MONGODB_URI: product.mongodbUri,
    TEMPORAL_ADDRESS: product.temporalAddress,
    TEMPORAL_NAMESPACE: NAME,
  });
  async function postback(...args: string[]): Promise<string> {
    const { code, out, err } = await runCommand(args, commandSettings());
    expect({ code, err }).toMatchObject({ code: 0 });
    return out;
  }
  /** As a process of its own, beside other commands. */
  const postbackBeside = async (...args: string[]) => {
    const env = { ...process.env, ...commandSettings() };
    return (await run(process.execPath, ['dist/cli/main.js', ...args], { env })).stdout;
  };
  const query = (text: string, query_by = 'vector') => api.idsFound('library', text, { query_by });
  type Readiness = { embeddings: object; outdated_texts?: object };
  const readinessOf = async (url: string) => (await (await fetch(`${url}/readyz`)).json()) as Readiness;
  /** Waits until the API and the worker say this. On a busy machine a probe can time out, and leaves out what it lists. */
  const expectReadiness = (expected: object) =>
    Promise.all(
      [product.apiUrl, product.workerUrl].map((url) =>
        eventually(`the readiness of ${url}`, async () => {
          expect(await readinessOf(url)).toMatchObject(expected);
          return true;
        }),
      ),
    );
  const expectLogs = async (mark: string, line: RegExp) => {
    for (const name of ['api', 'worker'] as const) expect(await logWith(product.dataDir, name, mark)).toMatch(line);
  };
  const inputOf = (request: RecordedRequest) => (request.json() as unknown as Embedding).input;

  /** @returns a function that opens the gate */
  function closeGate(): () => void {
    let open!: () => void;
    gate = new Promise((resolve) => {
      open = () => {
        gate = undefined;
        resolve();
      };
    });
    return open;
  }

  /** @returns the sorted chunk ids of all rows in the index that queries read, without those that have no vector */
  async function rowsWithVector(): Promise<string> {
    const { _id, index } = await withDb(
      product.mongodbUri,
      async (db) => (await db.collection<DatabaseRecord>('databases').findOne({ name: 'library' }))!,
    );
    const connection = await connect(join(product.dataDir, 'index'));
    const table = await connection.openTable(tableOf(_id, index));
    const rows: { chunk_id: string }[] = await table.query().where('vector IS NOT NULL').select(['chunk_id']).toArray();
    connection.close();
    return rows
      .map(({ chunk_id }) => chunk_id)
      .sort()
      .join('\n');
  }

  async function servedChunks(): Promise<string> {
    return withDb(product.mongodbUri, async (db) => {
      const items = await db.collection<ItemRecord>('items').find(COMPLETED).toArray();
      const refs = items.map(({ _id, served_version }) => ({ item: _id, version: served_version! }));
      const chunks = await db.collection<ChunkRecord>('chunks').find({ $or: refs }).toArray();
      return chunks
        .map(({ _id }) => _id)
        .sort()
        .join('\n');
    });
  }

  const modelsAsked = () => [...new Set(server.requests.map((request) => request.json().model))];

  test('begins with vectors of an embedding process that runs elsewhere: the settings name it, and no other is started', async () => {
    expect(product.embedder).toBeNull();
    expect((await query('swims in a river'))[0]).toBe('otter');
  });

  test('texts that another version has indexed are not searched until the index is rebuilt, which log and readiness say', async () => {
    await withDb(product.mongodbUri, (db) =>
      db.collection('databases').updateOne({ name: 'library' }, { $set: { 'index.analysis': 0 } }),
    );
    await restart({ ...settings('second', 24), POSTBACK_PREVIOUS_EMBEDDINGS_URL: 'local' });
    await expectReadiness({ outdated_texts: { databases: 1, advice: 'Run "postback index rebuild".' } });
    const mark = 'indexed by another version';
    await expectLogs(mark, /"databases":1.*indexed by another version: run \\"postback index rebuild\\"/);
    const rejected = await api.post('/query', { database: 'library', query: 'otter', query_by: 'text' });
    expect([rejected.status, rejected.body.error?.message]).toEqual([503, expect.stringContaining('index rebuild')]);
    const { data } = (await api.post('/query', { database: 'library', query: 'otter swims' })).body;
    expect(data.warning).toMatch(/another version.*Only vectors/);
    expect(data.chunks[0]).toMatchObject({ source_id: 'otter' });

    await postback('index', 'rebuild');
    expect(await query('otters', 'text')).toEqual(['otter']);
    expect((await readinessOf(product.apiUrl)).outdated_texts).toBeUndefined();
  });

  test('is made by a rebuild, and until then queries use the old vectors', async () => {
    expect((await query('otter river'))[0]).toBe('otter');
    expect(modelsAsked()).toEqual([]);

    const plan = await postback('index', 'rebuild', '--embed', '--dry-run', '--price', '20');
    expect(plan).toMatch(/Change to second \(24 dimensions\)/);
    expect(plan).toMatch(/model-change\/library .*bge-small-en-v1.5 \(384 dimensions\), 3 of 3 chunks to embed/);
    expect(plan).toMatch(/3 of 3 chunks in 1 databases: about \d+ characters, \d+ tokens, 1 calls.*about 0\.00 at 20/);
    expect(modelsAsked()).toEqual([]);

    const done = await postback('index', 'rebuild', '--embed');
    expect(done).toMatch(/3 of 3 chunks \(100 %\), 2 embedded; databases switched: 1 of 1\nDone: queries use second/);
    server.requests.length = 0;
    expect((await query('kiln hot'))[0]).toBe('kiln');
    expect(modelsAsked()).toEqual(['second']);
    // The model rejects one text, which keeps no vector.
    expect(await postback('index', 'rebuild', '--embed', '--dry-run')).toMatch(/second .*, 1 of 3 chunks to embed/);
  });

  test('without the model before: readiness and log say so, and items are indexed without vectors', async () => {
    await restart(settings('third', 8));
    const advice = 'Run "postback index rebuild --embed".';
    const other_models = [{ model: 'second', dimensions: 24, databases: 1, available: false, advice }];
    await expectReadiness({ embeddings: { available: true, model: 'third', dimensions: 8, other_models } });
    const mark = '"vectors":"second (24 dimensions)"';
    await expectLogs(mark, /"vectors":"second \(24 dimensions\)".*run \\"postback index rebuild --embed\\"/);
    await api.ingest({ database: 'library', memories: '[{"id":"heron","text":"The heron stands in the reeds."}]' });
    expect(await api.ended('library', 'heron')).toMatchObject({ indexing_status: 'completed', error_code: null });
    expect(await query('heron reeds', 'hybrid')).toEqual(['heron']);
    const { data } = (await api.post('/query', { database: 'library', query: 'heron' })).body;
    expect(data.warning).toMatch(/second \(24 dimensions\).*only text/);
    const response = await api.post('/query', { database: 'library', query: 'heron', query_by: 'vector' });
    expect([response.status, response.body.error?.message]).toEqual([503, expect.stringContaining('second (24')]);
  });

  test('goes on after the worker was killed, with items that are added, changed and deleted at the same time', async () => {
    const notes = (from: number, count: number) =>
      JSON.stringify(
        Array.from({ length: count }, (_, n) => ({ id: `note-${from + n}`, text: `Note word${letters(from + n)}.` })),
      );
    await api.ingest({ database: 'library', memories: notes(0, 300) });
    await eventually('the notes completed', () =>
      withDb(product.mongodbUri, async (db) => (await db.collection('items').countDocuments(COMPLETED)) === 304),
    );

    const open = closeGate();
    server.requests.length = 0;
    const rebuild = postbackBeside('index', 'rebuild', '--embed');
    await eventually('a batch of the rebuild', () => server.requests.some((request) => inputOf(request).length > 1));
    const again = postbackBeside('index', 'rebuild', '--embed');
    process.kill(product.worker.pid(), 'SIGKILL');
    expect(
      (
        await api.request('PATCH', '/context/note-1', {
          json: { database: 'library', additional_metadata: { colour: 'red' } },
        })
      ).status,
    ).toBe(200);
    await api.request('DELETE', '/context', { json: { database: 'library', ids: ['note-2', 'note-250'] } });
    await api.ingest({
      database: 'library',
      memories: '[{"id":"note-3","text":"Otherwise replaced."}]',
      upsert: 'true',
    });
    await api.ingest({ database: 'library', memories: '[{"id":"late","text":"A late arrival."}]' });
    for (const id of ['note-3', 'late'])
      expect(await api.ended('library', id)).toMatchObject({ indexing_status: 'completed' });
    open();
    for (const output of await Promise.all([rebuild, again]))
      expect(output).toMatch(/databases switched: 1 of 1\nDone/);

    const { embeddings } = await readinessOf(product.apiUrl);
    expect(embeddings).toEqual({ available: true, model: 'third', dimensions: 8 });
    expect(await postback('index', 'rebuild', '--embed')).toMatch(/^All databases have vectors of third/);
    await eventually('exactly one row with a vector for each chunk', async () => {
      return (await rowsWithVector()) === (await servedChunks());
    });
    expect((await query('late arrival'))[0]).toBe('late');
    expect(await query('otherwise replaced', 'text')).toEqual(['note-3']);
    const filtered = {
      database: 'library',
      query: 'note',
      metadata_filters: { additional_metadata: { colour: 'red' } },
    };
    expect((await api.post('/query', filtered)).body.data.chunks).toHaveLength(1);
  });

  test('whose workflow is lost is started again by the reconciler', async () => {
    const now = new Date();
    const lost = { status: 'running', database: null, all: false, plan: null, remaining: [], error: null };
    await withDb(product.mongodbUri, (db) =>
      db.collection<{ _id: string }>('index_rebuilds').insertOne({
        _id: 'rbd_lost',
        ...lost,
        ...{ scan: 0, position: null, found: 0, handled: 0, embedded: 0 },
        ...{ created_at: now, updated_at: new Date(0), expires_at: null },
      }),
    );
    expect((await reconcile(product, NAME)).index_rebuilds.failed).toBe(0);
    await eventually('the rebuild completed', () =>
      withDb(product.mongodbUri, (db) =>
        db.collection<{ _id: string }>('index_rebuilds').findOne({ _id: 'rbd_lost', status: 'completed' }),
      ),
    );
  });

  test('that is cancelled leaves the index in use', async () => {
    await restart(settings('fourth', 12, ['third', 8]));
    const open = closeGate();
    server.requests.length = 0;
    revoked = true;
    const rebuild = postbackBeside('index', 'rebuild', '--embed').catch((error) => error.stdout);
    await eventually('the error of the server', () =>
      withDb(product.mongodbUri, (db) => db.collection('index_rebuilds').findOne({ error: /status 401/ })),
    );
    revoked = false;
    await eventually('a batch of the rebuild', () => server.requests.some((request) => inputOf(request).length > 1));
    await postback('index', 'cancel');
    open();
    expect(await rebuild).toMatch(/Cancelled/);
    server.requests.length = 0;
    expect((await query('late arrival'))[0]).toBe('late');
    expect(modelsAsked()).toEqual(['third']);
  });
});
