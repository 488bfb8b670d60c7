import { beforeAll, describe, expect, test } from '@jest/globals';
import { inNewOrder } from '../../domain/content/reranking.js';
import { createReranker } from '../../providers/reranking/index.js';
import { createOrganisations } from '../../storage/organisations.js';
import type { Client } from '../support/client.js';
import { duringTests, processesDuringTests } from '../support/during-tests.js';
import { eventually, PATIENCE_MS } from '../support/eventually.js';
import { meteredModelDuringTests } from '../support/metered-model.js';
import { testCollections } from '../support/mongodb.js';
import { sendJson, startOpenAiServer } from '../support/openai-server.js';
import { clientOf } from '../support/organisation.js';

/** For servers that never answer. The others have as long as a busy machine takes. */
const TIMEOUT_MS = 500;
const TEXTS = ['one', 'two', 'three'];
const results = (...scores: [index: unknown, score: unknown][]) => ({
  results: scores.map(([index, relevance_score]) => ({ index, relevance_score })),
});

test('hits in a new order have the scores of their places, and the others follow', () => {
  const [a, b, c, d] = [1, 0.8, 0.5, 0.2].map((score, n) => ({ id: n, score }));
  expect(inNewOrder([a!, b!, c!, d!], [c!, a!])).toEqual([
    { id: 2, score: 1 },
    { id: 0, score: 0.8 },
    { id: 1, score: 0.5 },
    { id: 3, score: 0.2 },
  ]);
});

describe('a reranker', () => {
  const { server, counted, logged, quota, dependencies } = meteredModelDuringTests();

  const reranker = (baseUrl = server.baseUrl, timeoutMs = PATIENCE_MS) =>
    createReranker({ baseUrl, apiKey: 'secret', model: 'judge', timeoutMs }, dependencies);

  test('sends the request of Jina, Cohere and vLLM, and counts the tokens', async () => {
    server.respondWith((_, response) =>
      sendJson(response, {
        ...results([1, 0.2], [2, 0.9], [0, -3]),
        usage: { total_tokens: 41 },
      }),
    );
    expect(await reranker().rank('which', TEXTS, 'acme')).toEqual([2, 1, 0]);
    const [request] = server.requests;
    expect([request!.path, request!.headers.authorization]).toEqual(['/v1/rerank', 'Bearer secret']);
    expect(request!.json()).toEqual({ model: 'judge', query: 'which', documents: TEXTS, top_n: 3 });
    expect(counted).toEqual([['acme', 41]]);
  });

  test('keeps the order of equal scores', async () => {
    server.respondWith((_, response) => sendJson(response, results([2, 1], [1, 1], [0, 1])));
    expect(await reranker().rank('which', TEXTS, 'acme')).toEqual([0, 1, 2]);
  });

  test.each<[string, unknown]>([
    ['too few', results([0, 1], [1, 0.5])],
    ['too many', results([0, 1], [1, 0.5], [2, 0.4], [2, 0.4])],
    ['one twice', results([0, 1], [1, 0.5], [1, 0.4])],
    ['an index beyond the texts', results([0, 1], [1, 0.5], [3, 0.4])],
    ['a negative index', results([0, 1], [1, 0.5], [-1, 0.4])],
    ['a fraction as index', results([0, 1], [1, 0.5], [1.5, 0.4])],
    ['a score that is not a number', results([0, 1], [1, null], [2, 0.4])],
    ['NaN', results([0, 1], [1, 'NaN'], [2, 0.4])],
    ['no results', {}],
    ['no object', [1, 2, 3]],
  ])('gives no ranking for an answer with %s', async (_, body) => {
    server.respondWith((_request, response) => sendJson(response, body));
    expect(await reranker().rank('which', TEXTS, 'acme')).toBeNull();
  });

  test.each([301, 400, 401, 404, 429, 500, 503])('gives no ranking for status %d', async (status) => {
    server.respondWith((_, response) =>
      response.writeHead(status, { location: `${server.baseUrl}/elsewhere` }).end('{"results":[]}'),
    );
    expect(await reranker().rank('which', TEXTS, 'acme')).toBeNull();
    expect(server.requests).toHaveLength(1);
  });

  test('gives no ranking for an answer that is not JSON, is huge, ends early, or never comes', async () => {
    const { rank } = reranker(server.baseUrl, TIMEOUT_MS);
    const answers: Parameters<typeof server.respondWith>[0][] = [
      (_, response) => response.end('<html>'),
      (_, response) => response.end(`{"results":[],"pad":"${'x'.repeat(3 * 1024 * 1024)}"}`),
      (_, response) => {
        response.writeHead(200, { 'content-length': 1000 });
        response.write('{"results":');
        response.destroy();
      },
      (_, response) => void response.write('{"results":'),
      () => undefined,
    ];
    for (const answer of answers) {
      server.respondWith(answer);
      expect(await rank('which', TEXTS, 'acme')).toBeNull();
    }
    // The first failure only.
    expect(logged).toHaveLength(1);
  });

  test('gives no ranking when nothing listens, and sends nothing when the tokens are used up', async () => {
    expect(await reranker('http://127.0.0.1:9/v1').rank('which', TEXTS, 'acme')).toBeNull();
    quota.admits = false;
    expect(await reranker().rank('which', TEXTS, 'acme')).toBeNull();
    expect(server.requests).toHaveLength(0);
  });
});

describe('the second ranking of queries', () => {
  const server = duringTests(startOpenAiServer);
  const product = processesDuringTests('reranking', () => ({
    POSTBACK_RERANK_URL: server.baseUrl,
    POSTBACK_RERANK_MODEL: 'judge',
    // One test waits for so long; in the others, a busy machine must answer in this time.
    POSTBACK_RERANK_TIMEOUT_MS: '10000',
  }));
  let api: Client;

  beforeAll(async () => {
    api = await clientOf('reranking', product);
    await api.createDatabase('notes');
    const notes = ['The ferry leaves at nine.', 'The ferry is blue.', 'A ferry needs a crew.'];
    const memories = notes.map((text, n) => ({ id: `n${n}`, text }));
    await api.ingest({ database: 'notes', memories: JSON.stringify(memories) });
    for (const { id } of memories) await api.ended('notes', id);
  });

  const ask = async (rest: object = {}) => {
    const { status, body } = await api.post('/query', { database: 'notes', query: 'ferry leaves', ...rest });
    expect(status).toBe(200);
    return (body.data.chunks as { source_id: string; score: number; text: string }[]) ?? [];
  };
  const rejectAll = () => server.respondWith((_, response) => response.writeHead(500).end());
  /** Ranks the texts in the opposite order. */
  const turnAround = () =>
    server.respondWith((request, response) => {
      const { documents } = request.json() as unknown as { documents: string[] };
      sendJson(response, results(...documents.map((_, index): [number, number] => [index, index])));
    });

  test('decides the order of hybrid queries, and leaves the scores to the places', async () => {
    rejectAll();
    const first = await ask();
    turnAround();
    const second = await ask();
    expect(second.map(({ source_id }) => source_id)).toEqual(first.map(({ source_id }) => source_id).reverse());
    expect(second.map(({ score }) => score)).toEqual(first.map(({ score }) => score));
    const { documents } = server.requests.at(-1)!.json() as unknown as { documents: string[] };
    expect(documents).toEqual(first.map(({ text }) => text));
  });

  test('has no part in text queries, nor in a query with a single hit', async () => {
    turnAround();
    const before = server.requests.length;
    await ask({ query_by: 'text' });
    await ask({ ids: ['n0'] });
    expect(server.requests).toHaveLength(before);
  });

  test('leaves the first ranking when it fails or is late', async () => {
    rejectAll();
    const first = await ask();
    let answerLate = () => {};
    server.respondWith((_, response) => {
      answerLate = () => sendJson(response, results([0, 0], [1, 1], [2, 2]));
    });
    expect(await ask()).toEqual(first);
    answerLate();
  });

  test('counts its tokens against the quota of the organisation, and ends with it', async () => {
    server.respondWith((_, response) =>
      sendJson(response, { ...results([0, 0], [1, 1], [2, 2]), usage: { total_tokens: 70 } }),
    );
    const [first] = await ask();
    expect((await api.get('/usage')).body.data.model_tokens.used).toBe(70);
    const collections = await testCollections(product.mongodbUri);
    await createOrganisations(collections).setLimits('reranking', { model_tokens: 70 });
    await eventually('the first ranking stands', async () => {
      const before = server.requests.length;
      const [unranked] = await ask();
      return server.requests.length === before && unranked!.source_id !== first!.source_id;
    });
  });
});
