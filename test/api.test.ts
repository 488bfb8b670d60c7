import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import Koa, { type Middleware } from 'koa';
import { pino } from 'pino';
import { createHttpMetrics } from '../api/metrics.js';
import { internalService } from '../api/public-service.js';
import { type RequestState, requestContext } from '../api/request-context.js';
import { serve } from '../api/service.js';
import { keyHint } from '../domain/api-keys.js';
import { createClient } from './support/client.js';
import { fetchDocumented } from './support/conformance.js';
import { clientDuringTests } from './support/during-tests.js';
import { eventually } from './support/eventually.js';
import { startHttpServer } from './support/http-server.js';
import { clientOf } from './support/organisation.js';
import { makeKey, sharedProduct, startApi, withDb } from './support/product.js';

describe('every request', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const api = clientDuringTests('basics');

  const code = (response: { status: number; body: { error: { code: string } | null } }) => [
    response.status,
    response.body.error?.code,
  ];

  test('health and readiness need no key', async () => {
    expect(await (await fetch(`${apiUrl}/healthz`)).json()).toEqual({ status: 'ok' });
    // On a busy machine the first probes can time out.
    const ready = await eventually('ready', async () => {
      const response = await fetch(`${apiUrl}/readyz`);
      return response.status === 200 && response.json();
    });
    expect(ready).toMatchObject({
      status: 'ready',
      temporal: true,
      mongodb: true,
      embeddings: { available: true },
    });
  });

  test('health and readiness take no parameters', async () => {
    for (const path of ['/healthz', '/readyz']) {
      const response = await fetchDocumented(apiUrl, 'GET', `${path}?verbose=1`, { headers: {} });
      expect(response).toMatchObject({ status: 400, body: { error: { code: 'INVALID_PARAMETERS' } } });
    }
  });

  test('requests for readiness that arrive together share what was read', async () => {
    const requests = 10;
    let [readings, waiting] = [0, 0];
    const arrived = Promise.withResolvers<void>();
    const together: Middleware = async (_ctx, next) => {
      waiting += 1;
      if (waiting === requests) arrived.resolve();
      await arrived.promise;
      await next();
    };
    const health = internalService({
      async readiness() {
        readings += 1;
        return {
          temporal: true,
          mongodb: true,
          embeddings: { available: false, reason: '', search: 'full text only' },
        };
      },
      loopbackAllowed: false,
      proxySigns: { untrustedForwarding: false },
      metrics: createHttpMetrics(),
    });
    const log = pino({ level: 'silent' });
    const app = new Koa<RequestState>().use(requestContext(log, [], { untrustedForwarding: false }));
    const server = await startHttpServer(
      app
        .use(together)
        .use(serve([health], log))
        .callback(),
    );
    const all = await Promise.all(Array.from({ length: requests }, () => fetch(`${server.url}/readyz`)));
    await server.close();
    expect(all.map(({ status }) => status)).toEqual(Array(requests).fill(200));
    expect(readings).toBeLessThan(requests);
  });

  test('a missing, unknown, revoked or expired key is 401, a key of another kind is 403', async () => {
    const expired = await makeKey(mongodbUri, 'basics', 'api', new Date(Date.now() - 60_000));
    const revoked = await makeKey(mongodbUri, 'basics');
    await withDb(mongodbUri, (db) =>
      db
        .collection<{ _id: string }>('api_keys')
        .updateOne({ _id: revoked.record._id }, { $set: { revoked_at: new Date() } }),
    );
    for (const authorization of [
      '',
      'Bearer',
      'Bearer nonsense',
      `Bearer ${api.key}x`,
      `Bearer ${expired.key}`,
      `Bearer ${revoked.key}`,
    ]) {
      const response = await api.request('GET', '/webhooks/indexing', { headers: { Authorization: authorization } });
      expect([authorization, ...code(response)]).toEqual([authorization, 401, 'UNAUTHORIZED']);
    }
    const payment = (await makeKey(mongodbUri, 'basics', 'payment_publishable')).key;
    expect(code(await createClient(apiUrl, payment).get('/webhooks/indexing'))).toEqual([403, 'FORBIDDEN']);
  });

  test('only the hash of a key is stored', async () => {
    const stored = await withDb(mongodbUri, (db) => db.collection('api_keys').find().toArray());
    expect(JSON.stringify(stored)).not.toContain(api.key);
  });

  test('the hint of a key shows four characters, even when the random part has an underscore', () => {
    expect(keyHint('api', 'pbk_api_ab_defghijkl_nopq')).toBe('pbk_api_ab_d…');
  });

  test('API-Version must be 2', async () => {
    expect(code(await api.request('GET', '/webhooks/indexing', { headers: { 'API-Version': '1' } }))).toEqual([
      400,
      'INVALID_PARAMETERS',
    ]);
    expect(code(await api.request('GET', '/webhooks/indexing', { headers: { 'API-Version': '' } }))).toEqual([
      400,
      'INVALID_PARAMETERS',
    ]);
  });

  test('the envelope has success, data, error and meta; a valid request id is returned', async () => {
    const response = await api.request('GET', '/webhooks/indexing', { headers: { 'X-Request-Id': 'mine-1' } });
    expect(response.body).toEqual({
      success: true,
      data: expect.anything(),
      error: null,
      meta: { request_id: 'mine-1', latency_ms: expect.any(Number) },
    });
    expect(response.headers.get('x-request-id')).toBe('mine-1');
    const invalid = await api.request('GET', '/webhooks/indexing', { headers: { 'X-Request-Id': 'a b"c' } });
    expect(invalid.body.meta.request_id).toMatch(/^req_/);
  });

  test('idle connections stay open longer than those of a load balancer', async () => {
    const { headers } = await api.get('/databases');
    expect(headers.get('keep-alive')).toBe('timeout=65');
  });

  test('a request in progress during shutdown gets a response, the last one on its connection', async () => {
    const own = await startApi(sharedProduct(), {});
    const agent = new Agent({ keepAlive: true });
    const headers = { Authorization: `Bearer ${api.key}`, 'API-Version': '2', 'Content-Type': 'application/json' };
    const request = httpRequest(`${own.apiUrl}/databases`, { agent, method: 'POST', headers });
    const responded = once(request, 'response');
    await new Promise((sent) => request.write('{"database":', sent));
    const stopped = own.stop();
    await eventually('no new connection', () =>
      fetch(`${own.apiUrl}/healthz`).then(
        () => false,
        () => true,
      ),
    );
    request.end('"last-one"}');
    const [response] = (await responded) as [IncomingMessage];
    expect([response.statusCode, response.headers.connection]).toEqual([202, 'close']);
    response.resume();
    await stopped;
    agent.destroy();
  });

  test('with another method than a path has is 405 with the methods that it has, with and without a key', async () => {
    for (const client of [api, createClient(apiUrl, 'none')]) {
      expect(code(await client.get('/nothing/here'))).toEqual([404, 'NOT_FOUND']);
      for (const [path, allow] of [
        ['/query', 'POST'],
        ['/crews', 'HEAD, GET'],
        ['/v3/upload', 'POST'],
        ['/healthz', 'HEAD, GET'],
      ]) {
        const response = await client.request('PUT', path!, { body: 'no JSON' });
        expect([path, response.status, response.headers.get('Allow')]).toEqual([path, 405, allow]);
      }
    }
  });

  test('for the whole server (OPTIONS *) is not an error of the server', async () => {
    const { hostname, port } = new URL(apiUrl);
    const request = httpRequest({ hostname, port, method: 'OPTIONS', path: '*', agent: false }).end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(401);
  });

  test('with null as its body is rejected like any other value that is not an object', async () => {
    const response = await api.request('POST', '/webhooks/indexing/signing-secret', {
      body: 'null',
      headers: { 'Content-Type': 'application/json' },
    });
    expect(code(response)).toEqual([422, 'VALIDATION_ERROR']);
  });

  test('errors for unknown routes, invalid JSON and large bodies have the envelope', async () => {
    expect(code(await api.get('/nothing/here'))).toEqual([404, 'NOT_FOUND']);
    const malformed = await api.request('POST', '/query', {
      body: '{"query": ',
      headers: { 'Content-Type': 'application/json' },
    });
    expect(code(malformed)).toEqual([400, 'INVALID_PARAMETERS']);
    const latin1 = await api.request('POST', '/query', {
      body: Buffer.from('{"database": "d", "query": "café"}', 'latin1'),
      headers: { 'Content-Type': 'application/json' },
    });
    expect(code(latin1)).toEqual([400, 'INVALID_PARAMETERS']);
    for (const [path, type] of [
      ['/query', 'application/json'],
      ['/context/ingest', 'multipart/form-data; boundary=b'],
    ] as const) {
      const headers = { 'Content-Type': type, 'Content-Encoding': 'gzip' };
      const compressed = await api.request('POST', path, { body: 'compressed', headers });
      expect(code(compressed)).toEqual([400, 'INVALID_PARAMETERS']);
      expect(compressed.body.error?.message).toMatch(/must not be compressed/);
    }
    const large = await api.post('/query', { query: 'x'.repeat(2 * 1024 * 1024), database: 'd' });
    expect(code(large)).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    expect(large.body).toMatchObject({ success: false, data: null });
  });

  test('a query with too many parameters is 400', async () => {
    const query = (count: number) => `/databases?${'limit=1&'.repeat(count - 1)}limit=1`;
    expect((await api.get(query(1_000))).body.error?.message).toMatch(/^limit: /);
    expect(code(await api.get(query(1_101)))).toEqual([400, 'INVALID_PARAMETERS']);
  });

  test('a missing required field is 400, also for unions and enums; an invalid field is 422', async () => {
    const settings = { url: 'https://example.com/feed' };
    for (const [path, body, field] of [
      ['/query', { database: 'd' }, 'query'],
      ['/connectors', { database: 'd', settings }, 'kind'],
      [
        '/databases',
        { database: 'd', database_metadata_schema: [{ name: 'year' }] },
        'database_metadata_schema.0.data_type',
      ],
    ] as const) {
      const missing = await api.post(path, body);
      expect([...code(missing), missing.body.error?.message]).toEqual([
        400,
        'INVALID_PARAMETERS',
        `${field}: is required`,
      ]);
    }
    expect(code(await api.post('/connectors', { kind: 'tape', database: 'd', settings }))).toEqual([
      422,
      'VALIDATION_ERROR',
    ]);
    expect(code(await api.post('/connectors', { kind: null, database: 'd', settings }))).toEqual([
      422,
      'VALIDATION_ERROR',
    ]);
  });

  test.each<[string, string | object]>([
    ['limit: must be between 1 and 100', '/databases?limit=101'],
    ['limit: must be an integer', '/databases?limit=1.5'],
    ['max_results: must be between 1 and 50', { query: 'x', max_results: 51 }],
    ['query: must not exceed 10000 characters', { query: 'x'.repeat(10_001) }],
    ['ids: must not be empty', { query: 'x', ids: [] }],
    ['query_by: must be one of hybrid, text, vector', { query: 'x', query_by: 'sound' }],
    ['collections.one: must be greater than 0', { query: 'x', collections: { one: 0 } }],
    ['collections: must be an array or an object', { query: 'x', collections: 'one' }],
  ])('an error names the field and its bound: %s', async (message, request) => {
    const { status, body } =
      typeof request === 'string' ? await api.get(request) : await api.post('/query', { database: 'd', ...request });
    const expected = typeof request === 'string' ? [400, 'INVALID_PARAMETERS'] : [422, 'VALIDATION_ERROR'];
    expect([status, body.error?.code, body.error?.message]).toEqual([...expected, message]);
  });

  test.each<[string, string | object, number]>([
    ['colection: is not known; did you mean "collection"?', { query: 'x', colection: 'a' }, 422],
    ['cursr: is not known; did you mean "cursor"?', '/databases?cursr=a', 400],
    ['verbose: is not known', '/webhooks/indexing?verbose=1', 400],
  ])('a name that nobody knows is an error: %s', async (message, request, expected) => {
    const { status, body } =
      typeof request === 'string' ? await api.get(request) : await api.post('/query', { database: 'd', ...request });
    expect([status, body.error?.message]).toEqual([expected, message]);
  });

  test('an optional field that is null is not given, and metadata stay as they are', async () => {
    const registered = await api.post('/webhooks/indexing', { url: 'https://example.com/', signing_secret: null });
    expect(registered.status).toBe(200);
    await api.request('DELETE', '/webhooks/indexing');
    await api.createDatabase('nulls');
    const memory = { id: 'note', text: 'The lamp.', title: null, additional_metadata: { colour: null } };
    await api.ingest({ database: 'nulls', memories: JSON.stringify([memory]) });
    await api.ended('nulls', 'note');
    const { body } = await api.get('/context/note?database=nulls');
    expect(body.data.additional_metadata).toEqual({ colour: null });
  });

  test('a database is not visible to another organisation', async () => {
    await api.createDatabase('private');
    expect(code(await api.post('/databases', { database: 'private' }))).toEqual([409, 'DATABASE_ALREADY_EXISTS']);
    const other = await clientOf('strangers');
    expect(code(await other.get('/databases/status?database=private'))).toEqual([404, 'DATABASE_NOT_FOUND']);
    expect(code(await other.post('/query', { database: 'private', query: 'anything' }))).toEqual([
      404,
      'DATABASE_NOT_FOUND',
    ]);
    expect(code(await other.ingest({ database: 'private', memories: '[{"text":"x"}]' }))).toEqual([
      404,
      'DATABASE_NOT_FOUND',
    ]);
  });

  test('a database name is validated, and the status shows each part', async () => {
    expect(code(await api.post('/databases', { database: 'with space' }))).toEqual([422, 'VALIDATION_ERROR']);
    expect(code(await api.post('/databases', {}))).toEqual([400, 'INVALID_PARAMETERS']);
    await api.createDatabase('parts');
    expect((await api.get('/databases/status?database=parts')).body.data.infra).toEqual({
      scheduler_status: true,
      graph_status: true,
      vectorstore_status: { knowledge: true, memories: true },
      ready_for_ingestion: true,
    });
  });
});
