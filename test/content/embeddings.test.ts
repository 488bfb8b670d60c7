import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { EmbeddingError } from '../../domain/errors.js';
import { batchByLength } from '../../providers/embeddings/batching.js';
import { fuseModel } from '../../providers/embeddings/fused-model.js';
import { createEmbedder } from '../../providers/embeddings/index.js';
import { createLocalEmbedder } from '../../providers/embeddings/local.js';
import { BUILT_IN_MODEL } from '../../providers/embeddings/local-model.js';
import { type ModelThread, startModelThread } from '../../providers/embeddings/model-thread.js';
import { createOpenAiEmbedder } from '../../providers/embeddings/openai.js';
import { createTextQueue } from '../../providers/embeddings/text-queue.js';
import { field } from '../../providers/protobuf.js';
import { duringTests } from '../support/during-tests.js';
import { describeWithModel } from '../support/embedding-model.js';
import { startHttpServer } from '../support/http-server.js';

const similarity = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, at) => sum + value * b[at]!, 0);
/** The state of the first token, computed for two equal texts in a batch. */
async function firstStates(model: string | Buffer, ids: BigInt64Array): Promise<Float32Array> {
  const session = await InferenceSession.create(model as string);
  const tensor = (values: BigInt64Array) =>
    new Tensor('int64', BigInt64Array.from([...values, ...values]), [2, ids.length]);
  const inputs: Record<string, Tensor> = {
    input_ids: tensor(ids),
    attention_mask: tensor(ids.map(() => 1n)),
    token_type_ids: tensor(ids.map(() => 0n)),
  };
  const output = await session.run(Object.fromEntries(session.inputNames.map((name) => [name, inputs[name]!])));
  const states = output[session.outputNames[0]!]!.data as Float32Array;
  await session.release();
  return states.slice(states.length / 2, states.length / 2 + 384);
}

test('a model that is not built as expected is used as it is', () => {
  const graph = field(7, field(1, Buffer.concat([field(1, 'in'), field(2, 'out'), field(4, 'Relu')])));
  const model = Buffer.concat([field(1, 8), graph]);
  expect(fuseModel(model, 12)).toBe(model);
});

const moduleUrl = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
const lengthOf = (vector: Float32Array) => Math.hypot(...vector);

test('batches hold texts of the same length and at most the allowed tokens', () => {
  const texts = [3, 100, 300, 100, 3, 100, 4].map((length) => ({ ids: new Array<number>(length).fill(1) }));
  const batches = batchByLength(texts, 256).map((batch) => batch.map(({ ids }) => ids.length));
  expect(batches).toEqual([[3, 3], [4], [100, 100], [100], [300]]);
});

test('a turn has few texts, also when they are short and have many tokens', () => {
  const taken = (text: string) => {
    const queue = createTextQueue();
    void queue.add(Array<string>(40).fill(text), 'document');
    return queue.takeDocuments(1).length;
  };
  expect(taken('lamp keeper '.repeat(40))).toBeGreaterThan(10);
  for (const text of ['> '.repeat(250), '[]('.repeat(170), '图'.repeat(500), 'lamp '.repeat(5_000)]) {
    expect(taken(text)).toBeLessThanOrEqual(4);
  }
});

test('without a model there is no embedder', () => {
  expect(createEmbedder({ kind: 'none', reason: 'off' })).toBeNull();
});

await describeWithModel('the local embedder', (files) => {
  const embedder = duringTests(() => createLocalEmbedder(files));

  test('returns unit vectors in the order of the texts, similar for similar texts', async () => {
    const texts = [
      'A cat sat on the mat.',
      `Stock markets fell sharply today. ${'Prices dropped. '.repeat(40)}`,
      'A kitten was lying on the rug.',
    ];
    const vectors = await embedder.embedDocuments(texts);
    expect(vectors).toHaveLength(3);
    for (const vector of vectors) {
      expect(vector).toHaveLength(embedder.dimensions);
      expect(lengthOf(vector)).toBeCloseTo(1, 4);
    }
    expect(similarity(vectors[0]!, vectors[2]!)).toBeGreaterThan(similarity(vectors[0]!, vectors[1]!) + 0.1);
    const [alone] = await embedder.embedDocuments([texts[1]!]);
    expect(similarity(alone!, vectors[1]!)).toBeGreaterThan(0.99);
  });

  test('the fused model has the vectors of the original', async () => {
    const fused = fuseModel(readFileSync(files.modelPath), BUILT_IN_MODEL.heads!);
    expect(fused.length).not.toBe(readFileSync(files.modelPath).length);
    const ids = BigInt64Array.from([101, 1996, 10684, 5507, 1996, 10437, 2012, 18406, 1012, 102], BigInt);
    const [original, other] = await Promise.all([firstStates(files.modelPath, ids), firstStates(fused, ids)]);
    expect(similarity(original, other) / (lengthOf(original) * lengthOf(other))).toBeGreaterThan(0.995);
  });

  test('a query is nearest to the text that contains its answer', async () => {
    const query = await embedder.embedQuery('how hot does a plate get at high speed');
    const [heat, music] = await embedder.embedDocuments([
      'Aerodynamic heating of a flat plate.',
      'Sonatas for the piano.',
    ]);
    expect(similarity(query, heat!)).toBeGreaterThan(similarity(query, music!));
  });

  test('accepts empty, very long and malformed texts', async () => {
    const vectors = await embedder.embedDocuments(['', 'word '.repeat(100_000), 'x'.repeat(100_000), '😀\u0000\ud800']);
    for (const vector of vectors) expect(lengthOf(vector)).toBeCloseTo(1, 4);
    expect(await embedder.embedDocuments([])).toEqual([]);
  });

  test('a query is embedded before waiting documents', async () => {
    const order: string[] = [];
    const documents = embedder.embedDocuments(
      Array.from({ length: 40 }, (_, n) => `Document ${n}. ${'More words. '.repeat(50)}`),
    );
    const note = (name: string) => () => order.push(name);
    await Promise.all([documents.then(note('documents')), embedder.embedQuery('a query').then(note('query'))]);
    expect(order).toEqual(['query', 'documents']);
  });

  test('concurrent calls each get their own vectors', async () => {
    const texts = Array.from({ length: 12 }, (_, n) => `Text about subject ${n} and ${'nothing else '.repeat(n)}`);
    const alone = await embedder.embedDocuments(texts);
    const together = await Promise.all(texts.map(async (text) => (await embedder.embedDocuments([text]))[0]!));
    for (const [at, vector] of together.entries()) expect(similarity(vector, alone[at]!)).toBeGreaterThan(0.99);
  });

  test('two threads share the texts of a call, and embed a query between them', async () => {
    const two = createLocalEmbedder({ ...files, threads: 2 });
    try {
      const texts = Array.from({ length: 40 }, (_, n) => `Text ${n}. ${'Some more words. '.repeat(n)}`);
      const [vectors, query] = await Promise.all([two.embedDocuments(texts), two.embedQuery('a query')]);
      const alone = await embedder.embedDocuments(texts);
      for (const [at, vector] of vectors.entries()) expect(similarity(vector, alone[at]!)).toBeGreaterThan(0.99);
      expect(lengthOf(query)).toBeCloseTo(1, 4);
    } finally {
      await two.close();
    }
  });

  test('a second thread ends when it has no work, and starts again with new work', async () => {
    // In a process of its own: here, threads of other packages start and end.
    const script = `
      const { readdirSync } = await import('node:fs');
      const { stat } = await import('node:fs/promises');
      const { createLocalEmbedder } = await import(${moduleUrl('../../providers/embeddings/local.js')});
      const { eventually } = await import(${moduleUrl('../support/eventually.js')});
      const threads = () => readdirSync('/proc/self/task').length;
      const two = createLocalEmbedder({ ...${JSON.stringify(files)}, threads: 2, idleMs: 10 });
      await two.embedDocuments(['one']);
      // Starts all threads of Node's pool, so that none of them is counted later.
      await Promise.all(Array.from({ length: 64 }, () => stat('.')));
      const withOne = threads();
      const texts = new Array(200).fill('words '.repeat(20));
      for (let round = 0; round < 2; round += 1) {
        const call = two.embedDocuments(texts);
        await eventually('a second thread', () => threads() > withOne);
        if ((await call).length !== 200) throw new Error('not all vectors');
        await eventually('one thread', () => threads() <= withOne);
      }
      await two.close();`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  /** The names of calls in the order in which they end. */
  async function orderOf(calls: Record<string, Promise<unknown>>): Promise<string[]> {
    const ended: string[] = [];
    await Promise.all(Object.entries(calls).map(([name, call]) => call.then(() => ended.push(name))));
    return ended;
  }

  test('calls take turns: one text does not wait for the many texts of another call', async () => {
    const many = embedder.embedDocuments(new Array(30).fill('words '.repeat(60)));
    const one = embedder.embedDocuments(['A note.']);
    expect(await orderOf({ many, one })).toEqual(['one', 'many']);
  });

  test('organisations take turns: one text does not wait for the many calls of another organisation', async () => {
    const order: string[] = [];
    const embed = (org: string) =>
      embedder.embedDocuments(['words '.repeat(60)], undefined, org).then(() => order.push(org));
    const many = Array.from({ length: 30 }, () => embed('many'));
    await Promise.all([...many, embed('one')]);
    expect(order.indexOf('one')).toBeLessThan(order.length / 2);
  });

  describe('beside twelve long questions of one organisation', () => {
    const long = 'words '.repeat(500);

    /** @returns how many of the questions are embedded before the text */
    async function answeredBefore(embedText: () => Promise<unknown>): Promise<number> {
      let answered = 0;
      const flood = Array.from({ length: 12 }, () =>
        embedder.embedQuery(long, undefined, 'many').then(() => {
          answered += 1;
        }),
      );
      const before = await embedText().then(() => answered);
      await Promise.all(flood);
      return before;
    }

    test('the question of another organisation waits for few of them', async () => {
      expect(await answeredBefore(() => embedder.embedQuery(long, undefined, 'one'))).toBeLessThanOrEqual(4);
    });

    test('a document waits for few of them', async () => {
      expect(await answeredBefore(() => embedder.embedDocuments([long], undefined, 'one'))).toBeLessThanOrEqual(4);
    });
  });

  test('a thread embeds one batch of documents for two of questions while both wait', async () => {
    const order: string[] = [];
    let thread: ModelThread | undefined;
    await new Promise<void>((resolve, reject) => {
      thread = startModelThread(
        { ...files, model: BUILT_IN_MODEL },
        {
          onReady: () => undefined,
          onResult([number]) {
            order.push(number! < 10 ? 'question' : 'document');
            if (order.length === 8) resolve();
          },
          onEnd: reject,
        },
      );
      // Each fills a batch. They are there before the first batch, because the thread still loads the model.
      const send = (numbers: number[], urgent: boolean) =>
        thread!.send(
          numbers.map((number) => ({ number, text: 'words '.repeat(200) })),
          urgent,
        );
      send([1, 2, 3, 4, 5, 6], true);
      send([11, 12], false);
    });
    await thread!.stop();
    const [question, document] = ['question', 'document'];
    expect(order).toEqual([question, question, document, question, question, document, question, question]);
  });

  test('a short text waits for few long ones', async () => {
    const long = embedder.embedDocuments(new Array(12).fill('words '.repeat(500)));
    const short = embedder.embedDocuments(['A note.']);
    expect(await orderOf({ long, short })).toEqual(['short', 'long']);
  });

  test('a short text does not wait for the long texts of another organisation that the model has already', async () => {
    const long = embedder.embedDocuments(new Array(2).fill('words '.repeat(500)), undefined, 'many');
    const short = embedder.embedDocuments(['A note.'], undefined, 'one');
    expect(await orderOf({ long, short })).toEqual(['short', 'long']);
  });

  test('an aborted call rejects at once, and the next call works', async () => {
    const controller = new AbortController();
    const call = embedder.embedDocuments(new Array(50).fill('words '.repeat(200)), controller.signal);
    controller.abort(new Error('not needed'));
    await expect(call).rejects.toThrow('not needed');
    expect(await embedder.embedQuery('next')).toHaveLength(embedder.dimensions);
  });

  test('a model that cannot be loaded rejects, and the next call tries again', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'postback-model-'));
    const late = createLocalEmbedder({ modelPath: join(folder, 'model.onnx'), tokenizerPath: files.tokenizerPath });
    try {
      const failure = late.embedQuery('x');
      await expect(failure).rejects.toThrow(EmbeddingError);
      await expect(failure).rejects.toMatchObject({ retryable: true });
      await copyFile(files.modelPath, join(folder, 'model.onnx'));
      expect(await late.embedQuery('x')).toHaveLength(late.dimensions);
    } finally {
      await late.close();
      await rm(folder, { recursive: true });
    }
  });

  test('a process that exits while the model runs ends cleanly', async () => {
    const script = `
      const { createLocalEmbedder } = await import(${moduleUrl('../../providers/embeddings/local.js')});
      const embedder = createLocalEmbedder(${JSON.stringify(files)});
      await embedder.embedQuery("warm");
      void embedder.embedDocuments(new Array(50).fill('words '.repeat(300)));
      setTimeout(() => process.exit(7), 100);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' });
    expect(await once(child, 'exit')).toEqual([7, null]);
  });

  test('closing rejects running and later calls', async () => {
    const closing = createLocalEmbedder(files);
    const call = closing.embedDocuments(['x']);
    const outcome = expect(call).rejects.toThrow(/closed/);
    await closing.close();
    await outcome;
    await expect(closing.embedQuery('x')).rejects.toThrow(/closed/);
  });
});

describe('the embedder for OpenAI-compatible servers', () => {
  let requests: {
    url: string;
    authorization: string | undefined;
    body: { model: string; input: string[]; dimensions?: number };
  }[];
  let respond: (body: { input: string[]; dimensions?: number }, res: ServerResponse) => void;

  /** A response with its entries in another order, which the protocol allows. */
  const embeddings = (input: string[], size = 3) =>
    JSON.stringify({
      data: input
        .map((text, index) => ({ index, embedding: [text.length, 4, ...new Array(size - 2).fill(0)] }))
        .reverse(),
    });

  const server = duringTests(() =>
    startHttpServer(async (req, res) => {
      let text = '';
      for await (const part of req) text += part;
      const body = JSON.parse(text);
      requests.push({ url: req.url!, authorization: req.headers.authorization, body });
      respond(body, res);
    }),
  );
  beforeEach(() => {
    requests = [];
    respond = ({ input }, res) => res.end(embeddings(input));
  });
  afterEach(() => embedder.close());

  const options = () => ({ baseUrl: `${server.url}/v1/`, apiKey: 'secret-key', model: 'm', dimensions: 3 });
  let embedder: ReturnType<typeof createOpenAiEmbedder>;
  const create = (rest = {}) => {
    embedder = createOpenAiEmbedder({ ...options(), ...rest });
    return embedder;
  };

  test('sends batches and returns unit vectors in the order of the texts', async () => {
    const texts = Array.from({ length: 150 }, (_, n) => 'x'.repeat(n));
    const vectors = await create().embedDocuments(texts);
    expect(requests.map(({ body }) => body.input.length)).toEqual([64, 64, 22]);
    expect(requests[0]).toMatchObject({
      url: '/v1/embeddings',
      authorization: 'Bearer secret-key',
      body: { model: 'm', dimensions: 3 },
    });
    expect(vectors).toHaveLength(150);
    expect(vectors[3]![0]).toBeCloseTo(0.6);
    expect(vectors[3]![1]).toBeCloseTo(0.8);
    expect((await embedder.embedQuery('xxx'))[0]).toBeCloseTo(0.6);
  });

  test('leaves out the dimensions for a server that rejects them, because its model has fixed ones', async () => {
    respond = ({ input, dimensions }, res) =>
      dimensions === undefined ? res.end(embeddings(input)) : res.writeHead(400).end('does not support dimensions');
    expect(await create().embedDocuments(['a', 'b'])).toHaveLength(2);
    await embedder.embedQuery('c');
    expect(requests.map(({ body }) => body.dimensions)).toEqual([3, undefined, undefined]);
    respond = (_body, res) => res.writeHead(400).end();
    await expect(embedder.embedQuery('d')).rejects.toBeInstanceOf(EmbeddingError);
  });

  test('sends no authorization without a key', async () => {
    await create({ apiKey: undefined }).embedQuery('x');
    expect(requests[0]!.authorization).toBeUndefined();
  });

  test.each([
    [401, false],
    [400, false],
    [404, false],
    [429, true],
    [500, true],
    [503, true],
  ])('status %i is retryable: %s, and the message contains neither key nor text', async (status, retryable) => {
    respond = ({ input }, res) => res.writeHead(status).end(`bad key secret-key for ${input[0]}`);
    const error = (await create()
      .embedQuery('private words')
      .catch((reason) => reason)) as EmbeddingError;
    expect(error).toBeInstanceOf(EmbeddingError);
    expect(error.retryable).toBe(retryable);
    expect(error.message).toContain(String(status));
    expect(error.message).not.toMatch(/secret-key|private/);
  });

  test.each<[string, (input: string[]) => string, boolean]>([
    ['something that is not JSON', () => '<html>', true],
    ['no data', () => '{}', false],
    ['null', () => 'null', false],
    ['fewer vectors than texts', () => '{"data":[]}', false],
    ['another size', (input) => embeddings(input, 5), false],
    ['a zero vector', () => '{"data":[{"index":0,"embedding":[0,0,0]}]}', false],
    ['strings for numbers', () => '{"data":[{"index":0,"embedding":["a","b","c"]}]}', false],
    ['a null entry', () => '{"data":[null]}', false],
    ['a wrong index', () => '{"data":[{"index":7,"embedding":[1,2,3]}]}', false],
  ])('a response with %s is rejected', async (_, response, retryable) => {
    respond = ({ input }, res) => res.end(response(input));
    await expect(create().embedQuery('x')).rejects.toMatchObject({ name: 'EmbeddingError', retryable });
  });

  test('a silent server, a redirect and an unreachable server are retryable failures', async () => {
    respond = () => undefined;
    await expect(create({ timeoutMs: 100 }).embedQuery('x')).rejects.toMatchObject({
      retryable: true,
      message: expect.stringContaining('100 ms'),
    });
    respond = (_, res) => res.writeHead(307, { location: `${server.url}/elsewhere` }).end();
    await expect(create().embedQuery('x')).rejects.toMatchObject({ retryable: true });
    await expect(create({ baseUrl: 'http://127.0.0.1:1/v1' }).embedQuery('x')).rejects.toMatchObject({
      retryable: true,
    });
  });

  test('an aborted call rejects with the reason of the signal', async () => {
    respond = () => undefined;
    const controller = new AbortController();
    const call = create().embedQuery('x', controller.signal);
    controller.abort(new Error('not needed'));
    await expect(call).rejects.toThrow('not needed');
  });
});
