import { describe, expect, test } from '@jest/globals';
import { createGraphExtractor } from '../../providers/graph/index.js';
import { mergeGraphs } from '../../providers/graph/merge-graphs.js';
import { createModelGraphExtractor } from '../../providers/graph/model-extractor.js';
import { duringTests, processesDuringTests } from '../support/during-tests.js';
import { PATIENCE_MS } from '../support/eventually.js';
import { meteredModelDuringTests } from '../support/metered-model.js';
import { sendCompletion, sendJson, startOpenAiServer } from '../support/openai-server.js';
import { clientOf } from '../support/organisation.js';

type Handler = Parameters<Awaited<ReturnType<typeof startOpenAiServer>>['respondWith']>[0];

const TEXT = 'Marie Curie was born in Warsaw. She won the Nobel Prize. It was a cold day.';
const ANSWER = {
  entities: [
    { name: 'Marie Curie', type: 'person' },
    { name: 'Warsaw', type: 'place' },
    { name: 'Nobel Prize', type: 'name' },
    { name: 'Sorbonne', type: 'organization' },
  ],
  relations: [
    { source: 'Marie Curie', relation: 'was born in', target: 'Warsaw', sentence: 'Marie Curie was born in Warsaw.' },
    { source: 'Marie Curie', relation: 'won', target: 'Nobel Prize', sentence: 'She got a prize.' },
    { source: 'Marie Curie', relation: 'taught at', target: 'Sorbonne', sentence: 'She taught.' },
    { source: 'Warsaw', relation: 'is', target: 'Warsaw', sentence: 'Warsaw.' },
  ],
};
const answers =
  (content: unknown, extra?: Record<string, unknown>): Handler =>
  (_, response) =>
    sendCompletion(response, typeof content === 'string' ? content : JSON.stringify(content), extra);

describe('a graph by a language model', () => {
  const { server, counted, logged, quota, dependencies } = meteredModelDuringTests();
  const builtIn = duringTests(createGraphExtractor);

  /** A new one for each test, because it does not ask a server that has failed for a while. */
  const extractor = (baseUrl = server.baseUrl, timeoutMs = PATIENCE_MS) =>
    createModelGraphExtractor(
      { baseUrl, apiKey: 'secret', model: 'reader', maxTokens: 500, timeoutMs },
      { builtIn, ...dependencies },
    );
  const read = (from = extractor(), text = TEXT) => from.extract([{ chunk_id: 'chk_0', text }], undefined, 'acme');
  const own = () => builtIn.extract([{ chunk_id: 'chk_0', text: TEXT }]);

  test('has what the answer says of names in the text, with sentences of the text, and counts the tokens', async () => {
    server.respondWith(answers(ANSWER));
    expect(await read()).toEqual({
      entities: [
        {
          name: 'Marie Curie',
          type: 'person',
          mentions: [{ chunk_id: 'chk_0', sentence: 'Marie Curie was born in Warsaw.' }],
        },
        {
          name: 'Warsaw',
          type: 'place',
          mentions: [{ chunk_id: 'chk_0', sentence: 'Marie Curie was born in Warsaw.' }],
        },
        { name: 'Nobel Prize', type: 'name', mentions: [{ chunk_id: 'chk_0', sentence: 'She won the Nobel Prize.' }] },
      ],
      relations: [
        {
          source: 'Marie Curie',
          relation: 'was born in',
          target: 'Warsaw',
          evidence: [{ chunk_id: 'chk_0', sentence: 'Marie Curie was born in Warsaw.' }],
        },
        {
          source: 'Marie Curie',
          relation: 'won',
          target: 'Nobel Prize',
          evidence: [{ chunk_id: 'chk_0', sentence: 'She won the Nobel Prize.' }],
        },
      ],
    });
    expect(counted).toEqual([['acme', 17]]);
    const [request] = server.requests;
    expect([request!.path, request!.headers.authorization]).toEqual(['/v1/chat/completions', 'Bearer secret']);
    expect(request!.json()).toMatchObject({
      model: 'reader',
      max_tokens: 500,
      response_format: { type: 'json_schema', json_schema: { strict: true } },
      messages: [{ role: 'system' }, { role: 'user', content: TEXT }],
    });
  });

  test('may be in a fence', async () => {
    server.respondWith(answers(`\`\`\`json\n${JSON.stringify(ANSWER)}\n\`\`\``));
    expect((await read()).relations).toHaveLength(2);
  });

  test.each<[string, Handler]>([
    ['is no JSON', answers('Marie Curie was born in Warsaw.')],
    ['has another form', answers({ entities: ['Marie Curie'], relations: [] })],
    ['has an unknown type', answers({ entities: [{ name: 'Warsaw', type: 'city' }], relations: [] })],
    ['is empty', answers('')],
    ['is cut off', answers(ANSWER, { finish_reason: 'length' })],
    ['is declined', answers(null as never, { refusal: 'No.' })],
    ['holds no message', (_, response) => sendJson(response, { choices: [] })],
    ['is huge', answers(`{"entities":[],"relations":[],"pad":"${'x'.repeat(2 * 1024 * 1024)}"}`)],
    [
      'ends early',
      (_, response) => void response.writeHead(200, { 'content-length': 1000 }).write('{', () => response.destroy()),
    ],
    ['has status 400', (_, response) => sendJson(response, {}, 400)],
    ['has status 500', (_, response) => sendJson(response, {}, 500)],
    ['never comes', () => undefined],
  ])('is the built-in one when the answer %s', async (_, handler) => {
    server.respondWith(handler);
    // One of them never comes.
    expect(await read(extractor(server.baseUrl, 1_000))).toEqual(await own());
    expect(logged).toHaveLength(1);
  });

  test('is the built-in one when nothing listens, which is not asked again at once', async () => {
    const unreachable = extractor('http://127.0.0.1:9/v1');
    expect(await read(unreachable)).toEqual(await own());
    expect(await read(unreachable)).toEqual(await own());
    expect(logged).toHaveLength(1);
  });

  test('is the built-in one when the tokens of the organisation are used up', async () => {
    quota.admits = false;
    expect(await read()).toEqual(await own());
    expect(server.requests).toHaveLength(0);
  });

  test('is read chunk by chunk, and the built-in extraction reads the chunks that failed', async () => {
    server.respondWith((request, response) => {
      const bad = (request.json().messages[1]!.content as string).includes('Lovelace');
      answers(bad ? 'no' : ANSWER)(request, response);
    });
    const graph = await extractor().extract([
      { chunk_id: 'chk_0', text: TEXT },
      { chunk_id: 'chk_1', text: 'Ada Lovelace worked with Charles Babbage in London.' },
    ]);
    const names = graph.entities.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['Marie Curie', 'Ada Lovelace', 'Charles Babbage']));
    expect(server.requests).toHaveLength(2);
  });

  test('has no names from code, and a text that is only code is not sent', async () => {
    server.respondWith(
      answers({
        entities: [
          { name: 'Warsaw', type: 'place' },
          { name: 'Marie', type: 'person' },
        ],
        relations: [],
      }),
    );
    const text = 'Marie wrote: city = "Warsaw"';
    const graph = await extractor().extract([
      { chunk_id: 'chk_0', text, code: [[text.indexOf('city'), text.length]] },
      { chunk_id: 'chk_1', text: 'return Warsaw', code: [[0, 13]] },
    ]);
    expect(graph.entities.map(({ name }) => name)).toEqual(['Marie']);
    expect(server.requests).toHaveLength(1);
  });

  test('ends with the reason of the signal when it is aborted', async () => {
    server.respondWith(() => undefined);
    const given = new AbortController();
    const reading = extractor().extract([{ chunk_id: 'chk_0', text: TEXT }], given.signal);
    given.abort(new Error('stopped'));
    await expect(reading).rejects.toThrow('stopped');
  });
});

test('graphs of chunks are one graph, in which a name has one spelling and its most certain type', () => {
  const at = (chunk_id: string) => [{ chunk_id, sentence: 'S.' }];
  const part = (chunk_id: string, acme: string, type: 'name' | 'organization') => ({
    entities: [
      { name: acme, type, mentions: at(chunk_id) },
      { name: 'Rome', type: 'place' as const, mentions: at(chunk_id) },
    ],
    relations: [{ source: acme, relation: 'is in', target: 'Rome', evidence: at(chunk_id) }],
  });
  expect(mergeGraphs([part('a', 'Acme', 'name'), part('b', 'ACME', 'organization')])).toEqual({
    entities: [
      { name: 'Acme', type: 'organization', mentions: [...at('a'), ...at('b')] },
      { name: 'Rome', type: 'place', mentions: [...at('a'), ...at('b')] },
    ],
    relations: [{ source: 'Acme', relation: 'is in', target: 'Rome', evidence: [...at('a'), ...at('b')] }],
  });
});

describe('a graph model in the product', () => {
  const server = duringTests(startOpenAiServer);
  const product = processesDuringTests('graph-model', () => ({
    POSTBACK_OPENAI_URL: server.baseUrl,
    POSTBACK_GRAPH_MODEL: 'reader',
  }));

  test('reads the items, on the tokens of the organisation', async () => {
    server.respondWith(answers(ANSWER));
    const api = await clientOf('graph-model', product);
    await api.createDatabase('notes');
    await api.ingest({ database: 'notes', memories: JSON.stringify([{ id: 'curie', text: TEXT }]) });
    await api.ended('notes', 'curie');
    const { relations } = (await api.get('/context/relations?database=notes')).body.data;
    expect(relations).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ source: 'Marie Curie', relation: 'won', target: 'Nobel Prize' }),
      ]),
    );
    expect((await api.get('/usage')).body.data.model_tokens.used).toBe(17);
  });
});
