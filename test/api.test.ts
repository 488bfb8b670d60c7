import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { keyHint } from '../domain/api-keys.js';
import { type Client, createClient } from './support/client.js';
import { eventually } from './support/eventually.js';
import { makeKey, sharedProduct, startApi, withDb } from './support/product.js';

describe('what holds for every request', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  let api: Client;
  let key: string;

  beforeAll(async () => {
    key = (await makeKey(mongodbUri, 'basics')).key;
    api = createClient(apiUrl, key);
  });

  const code = (answer: { status: number; body: { error: { code: string } | null } }) => [
    answer.status,
    answer.body.error?.code,
  ];

  test('health and readiness need no key', async () => {
    expect(await (await fetch(`${apiUrl}/healthz`)).json()).toEqual({ status: 'ok' });
    // On a busy machine a probe may take longer than a probe waits.
    const ready = await eventually('ready', async () => {
      const answer = await fetch(`${apiUrl}/readyz`);
      return answer.status === 200 && answer.json();
    });
    expect(ready).toMatchObject({
      status: 'ready',
      temporal: true,
      mongodb: true,
      embeddings: { available: true },
    });
  });

  test('a missing, unknown, revoked or expired key is 401, a key of another kind 403', async () => {
    const expired = await makeKey(mongodbUri, 'basics', 'api', new Date(Date.now() - 1000));
    const revoked = await makeKey(mongodbUri, 'basics');
    await withDb(mongodbUri, (db) =>
      db
        .collection<{ _id: string }>('api_keys')
        .updateOne({ _id: revoked.record._id }, { $set: { revoked_at: new Date() } }),
    );
    for (const wrong of [
      '',
      'Bearer',
      'Bearer nonsense',
      `Bearer ${key}x`,
      `Bearer ${expired.key}`,
      `Bearer ${revoked.key}`,
    ]) {
      const answer = await api.request('GET', '/webhooks/indexing', { headers: { Authorization: wrong } });
      expect([wrong, ...code(answer)]).toEqual([wrong, 401, 'UNAUTHORIZED']);
    }
    const payment = (await makeKey(mongodbUri, 'basics', 'payment_publishable')).key;
    expect(code(await createClient(apiUrl, payment).get('/webhooks/indexing'))).toEqual([403, 'FORBIDDEN']);
  });

  test('only the hash of a key is stored', async () => {
    const stored = await withDb(mongodbUri, (db) => db.collection('api_keys').find().toArray());
    expect(JSON.stringify(stored)).not.toContain(key);
  });

  test('the hint of a key shows four characters, also where the random part has an underscore', () => {
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

  test('the envelope carries success, data, error and meta; a sane request id comes back', async () => {
    const answer = await api.request('GET', '/webhooks/indexing', { headers: { 'X-Request-Id': 'mine-1' } });
    expect(answer.body).toEqual({
      success: true,
      data: expect.anything(),
      error: null,
      meta: { request_id: 'mine-1', latency_ms: expect.any(Number) },
    });
    expect(answer.headers.get('x-request-id')).toBe('mine-1');
    const odd = await api.request('GET', '/webhooks/indexing', { headers: { 'X-Request-Id': 'a b"c' } });
    expect(odd.body.meta.request_id).toMatch(/^req_/);
  });

  test('idle connections are kept for longer than a load balancer keeps them', async () => {
    const { headers } = await api.get('/databases');
    expect(headers.get('keep-alive')).toBe('timeout=65');
  });

  test('a request under way when the process is told to stop is answered, as the last one of its connection', async () => {
    const own = await startApi(sharedProduct(), {});
    const agent = new Agent({ keepAlive: true });
    const headers = { Authorization: `Bearer ${key}`, 'API-Version': '2', 'Content-Type': 'application/json' };
    const request = httpRequest(`${own.apiUrl}/databases`, { agent, method: 'POST', headers });
    const answered = once(request, 'response');
    await new Promise((sent) => request.write('{"database":', sent));
    const stopped = own.stop();
    await eventually('no new connection', () =>
      fetch(`${own.apiUrl}/healthz`).then(
        () => false,
        () => true,
      ),
    );
    request.end('"last-one"}');
    const [response] = (await answered) as [IncomingMessage];
    expect([response.statusCode, response.headers.connection]).toEqual([202, 'close']);
    response.resume();
    await stopped;
    agent.destroy();
  });

  test('unknown routes, wrong JSON and large bodies are answered in the envelope', async () => {
    expect(code(await api.get('/nothing/here'))).toEqual([404, 'NOT_FOUND']);
    const wrong = await api.request('POST', '/query', {
      body: '{"query": ',
      headers: { 'Content-Type': 'application/json' },
    });
    expect(code(wrong)).toEqual([400, 'INVALID_PARAMETERS']);
    const large = await api.post('/query', { query: 'x'.repeat(2 * 1024 * 1024), database: 'd' });
    expect(code(large)).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    expect(large.body).toMatchObject({ success: false, data: null });
  });

  test('what is required and missing is 400, whatever may stand there; what is wrong is 422', async () => {
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

  test('another organisation does not see a database', async () => {
    await api.createDatabase('private');
    expect(code(await api.post('/databases', { database: 'private' }))).toEqual([409, 'DATABASE_ALREADY_EXISTS']);
    const other = createClient(apiUrl, (await makeKey(mongodbUri, 'strangers')).key);
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

  test('a database name is checked, and the status tells each part', async () => {
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
