import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Client, request } from 'undici';
import { type Child, startChild } from '../../cli/child.js';
import { embedderSocket } from '../../cli/instance.js';
import type { Embedder } from '../../domain/content/search.js';
import { createLocalEmbedder } from '../../providers/embeddings/local.js';
import { createSocketEmbedder } from '../../providers/embeddings/socket.js';
import { createEmbeddingServer, listenOnSocket } from '../../providers/embeddings/socket-server.js';
import { describeWithModel } from '../support/embedding-model.js';
import { eventually, PATIENCE_MS } from '../support/eventually.js';
import { freePorts } from '../support/product.js';

let folder: string;
let socketPath: string;
/** The home folder of the process. */
let home: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'postback-embedder-'));
  socketPath = join(folder, 'embedder.sock');
  home = join(folder, 'home');
  mkdirSync(home);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

await describeWithModel('the embedding process', (files) => {
  let child: Child;
  let client: Embedder;
  beforeAll(() => {
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      POSTBACK_EMBEDDING_MODEL_DIR: dirname(files.modelPath),
      POSTBACK_EMBEDDER_SOCKET: socketPath,
    };
    child = startChild('embedder', env, folder, () => undefined);
    // These tests are about what the calls return, not about how long a question may wait for the process.
    client = createSocketEmbedder({
      address: { socketPath },
      patienceMs: { documents: PATIENCE_MS, query: PATIENCE_MS },
    });
  });
  afterAll(async () => {
    await client.close();
    await child.stop();
  });

  test('returns the vectors of the model in this process, for the first call before the process listens', async () => {
    const local = createLocalEmbedder(files);
    const text = 'The keeper lit the lamp at dusk.';
    const [[remote], query] = await Promise.all([client.embedDocuments([text]), client.embedQuery(text)]);
    expect(remote).toEqual((await local.embedDocuments([text]))[0]);
    expect(query).toEqual(await local.embedQuery(text));
    await local.close();
  });

  test('the library of the model reports nothing to its maker, and leaves no id in the home folder', async () => {
    await client.embedQuery('loaded');
    expect(readdirSync(home)).toEqual([]);
    expect(existsSync(join(tmpdir(), `mat-debug-${child.pid()}.log`))).toBe(false);
  });

  test('accepts more texts than one request holds, and returns their vectors in order', async () => {
    const texts = Array.from({ length: 150 }, (_, n) => `${n}`);
    const vectors = await client.embedDocuments(texts);
    expect(vectors).toHaveLength(150);
    const [last] = await client.embedDocuments([texts[149]!]);
    const similarity = (n: number) => vectors[n]!.reduce((sum, value, at) => sum + value * last![at]!, 0);
    expect(similarity(149)).toBeGreaterThan(0.99);
    expect(await client.embedDocuments([])).toEqual([]);
  });

  test('kill -9 during its work: it starts again, and calls in progress return all vectors', async () => {
    // Stopped, it accepts the calls and cannot finish them before it is killed.
    const killed = child.pid();
    process.kill(killed, 'SIGSTOP');
    const documents = client.embedDocuments(Array.from({ length: 200 }, (_, n) => `Text ${n}.`));
    const query = client.embedQuery('Which text?');
    process.kill(killed, 'SIGKILL');
    expect(await documents).toHaveLength(200);
    expect(await query).toHaveLength(client.dimensions);
    expect(child.pid()).not.toBe(killed);
  });

  test('listens on a port for clients on other machines', async () => {
    const { ports, release } = await freePorts(folder, { embedder: 0 });
    await release();
    const port = ports.embedder;
    const env = {
      PATH: process.env.PATH,
      POSTBACK_EMBEDDING_MODEL_DIR: dirname(files.modelPath),
      POSTBACK_EMBEDDER_PORT: `${port}`,
    };
    const listening = startChild('embedder', env, folder, () => undefined);
    const distant = createSocketEmbedder({
      address: { url: `http://127.0.0.1:${port}` },
      patienceMs: { documents: PATIENCE_MS, query: PATIENCE_MS },
    });
    expect(await distant.embedQuery('Which text?')).toEqual(await client.embedQuery('Which text?'));
    await distant.close();
    await listening.stop();
  });

  test('a second process does not take its socket', async () => {
    const second = createServer();
    await expect(listenOnSocket(second, socketPath)).rejects.toThrow('another process listens');
    expect(await client.embedQuery('still there')).toHaveLength(client.dimensions);
  });
});

describe('the queue of the embedding process', () => {
  /** Calls that the model has not finished. */
  let calls: {
    texts: readonly string[];
    signal: AbortSignal;
    org: string | undefined;
    finish(): void;
    fail(error: Error): void;
  }[];
  let server: Server;
  let clients: Embedder[];
  /** A model that finishes when the test says so. */
  const held: Embedder = {
    model: 'held',
    dimensions: 384,
    embedDocuments: (texts, signal, org) =>
      new Promise((resolve, reject) => {
        const finish = () => resolve(texts.map(() => new Float32Array(384)));
        calls.push({ texts, signal: signal!, org, finish, fail: reject });
        signal!.addEventListener('abort', () => reject(signal!.reason));
      }),
    embedQuery: async (text, signal, org) =>
      text === 'held' ? (await held.embedDocuments([text], signal, org))[0]! : new Float32Array(384),
    close: async () => undefined,
  };
  const connect = (patience = PATIENCE_MS) => {
    const client = createSocketEmbedder({
      address: { socketPath },
      patienceMs: { documents: patience, query: patience },
    });
    clients.push(client);
    return client;
  };
  const nextCall = (number: number) => eventually(`call ${number}`, () => calls[number - 1]);

  beforeEach(async () => {
    calls = [];
    clients = [];
    server = createEmbeddingServer(held, { documents: 2, query: 2 });
    await listenOnSocket(server, socketPath);
  });
  afterEach(async () => {
    await Promise.all(clients.map((client) => client.close()));
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  });

  test('drops the texts of a client that disconnects', async () => {
    const leaving = connect();
    const lost = leaving.embedDocuments(['a', 'b']).catch((error) => error.message);
    const { signal } = await nextCall(1);
    await leaving.close();
    expect(await lost).toMatch(/closed/);
    await eventually('the call is dropped', () => signal.aborted);
  });

  test('is bounded: further texts wait in their client until there is room, and queries have a queue of their own', async () => {
    const first = connect().embedDocuments(['a', 'b']);
    const { finish } = await nextCall(1);
    const second = connect(0).embedDocuments(['c']);
    // A query passes full queues of documents.
    expect(await connect(0).embedQuery('q')).toHaveLength(384);
    expect(calls).toHaveLength(1);
    finish();
    await first;
    (await nextCall(2)).finish();
    expect(await second).toHaveLength(1);
  });

  test('is full for an organisation with texts in it, and accepts those of another, which the model gets by name', async () => {
    const first = connect().embedDocuments(['a', 'b'], undefined, 'many');
    expect((await nextCall(1)).org).toBe('many');
    const second = connect(0).embedDocuments(['c'], undefined, 'many');
    const other = connect(0).embedDocuments(['d'], undefined, 'one ü');
    const { org, texts, finish } = await nextCall(2);
    expect({ org, texts }).toEqual({ org: 'one%20%C3%BC', texts: ['d'] });
    finish();
    expect(await other).toHaveLength(1);
    expect(calls).toHaveLength(2);
    calls[0]!.finish();
    await first;
    (await nextCall(3)).finish();
    expect(await second).toHaveLength(1);
  });

  test('is full of the questions of one organisation, and accepts that of another', async () => {
    const many = Array.from({ length: 3 }, () => connect().embedQuery('held', undefined, 'many'));
    await nextCall(2);
    const one = connect(0).embedQuery('held', undefined, 'one');
    expect((await nextCall(3)).org).toBe('one');
    for (const { finish } of calls) finish();
    await one;
    (await nextCall(4)).finish();
    await Promise.all(many);
  });

  test('receives the question of an organisation although another has many more in the same client', async () => {
    await new Promise((resolve) => server.close(resolve));
    server = createEmbeddingServer(held);
    await listenOnSocket(server, socketPath);
    const client = connect();
    const all = Array.from({ length: 40 }, () => client.embedQuery('held', undefined, 'many'));
    await nextCall(16);
    all.push(client.embedQuery('held', undefined, 'one'));
    for (let number = 1; number <= 41; number += 1) (await nextCall(number)).finish();
    await Promise.all(all);
    expect(calls.findIndex(({ org }) => org === 'one')).toBeLessThan(20);
  });

  test('receives the texts of one client as they come, and not only a few calls at a time', async () => {
    const client = connect();
    const all = Array.from({ length: 20 }, (_, n) => client.embedDocuments(['a'], undefined, `org-${n}`));
    await nextCall(20);
    for (const { finish } of calls) finish();
    expect((await Promise.all(all)).flat()).toHaveLength(20);
  });

  test('an aborted call rejects with the reason of its signal', async () => {
    const abort = new AbortController();
    const call = connect().embedDocuments(['a'], abort.signal);
    await nextCall(1);
    abort.abort(new Error('not needed'));
    await expect(call).rejects.toThrow('not needed');
  });

  test('a process that is away is a retryable failure', async () => {
    await new Promise((resolve) => server.close(resolve));
    await expect(connect(0).embedQuery('x')).rejects.toMatchObject({ name: 'EmbeddingError', retryable: true });
  });

  test('a request during which the connection breaks again and again is given up', async () => {
    let attempts = 0;
    server.removeAllListeners('request');
    server.on('request', (_, response) => {
      attempts += 1;
      response.destroy();
    });
    const call = connect().embedDocuments(['a text that crashes the model']);
    await expect(call).rejects.toMatchObject({ name: 'EmbeddingError', retryable: true });
    expect(attempts).toBe(3);
  });

  test('a failure of the model is passed on with its message', async () => {
    const call = connect().embedDocuments(['a']);
    (await nextCall(1)).fail(new Error('the model failed'));
    await expect(call).rejects.toMatchObject({ message: 'the model failed', retryable: true });
  });

  test.each([
    ['something that is not JSON', '['],
    ['a number instead of a text', '[1]'],
    ['too many texts', JSON.stringify(new Array(65).fill(''))],
  ])('rejects a request with %s', async (_, body) => {
    const dispatcher = new Client('http://embedder', { connect: { socketPath } });
    const { statusCode } = await request('http://embedder/documents', { dispatcher, method: 'POST', body });
    await dispatcher.close();
    expect([statusCode, calls]).toEqual([400, []]);
  });
});

test('the socket of a data folder with a long path is in a temporary folder', () => {
  const short = embedderSocket('/data/postback');
  expect(short.path).toBe('/data/postback/embedder.sock');
  const long = embedderSocket(`/data/${'x'.repeat(100)}`);
  expect(Buffer.byteLength(long.path)).toBeLessThan(100);
  long.release();
});
