import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import Router from '@koa/router';
import Koa from 'koa';
import { pino } from 'pino';
import { z } from 'zod';
import { plainEnvelope } from '../api/envelope.js';
import { jsonBody } from '../api/json-body.js';
import { operations } from '../api/operation.js';
import { type RequestState, requestContext } from '../api/request-context.js';
import { routesOf, type Service, serve } from '../api/service.js';
import { type ErrorCode, ServiceError } from '../domain/errors.js';
import { createSealer } from '../domain/sealing.js';
import type { Collections } from '../storage/collections.js';
import { createDatabases } from '../storage/content/databases.js';
import { createIdempotencyKeys } from '../storage/idempotency-keys.js';
import type { DeliveryRecord } from '../storage/webhooks/deliveries.js';
import { statusAndCode } from './support/client.js';
import { clientDuringTests } from './support/during-tests.js';
import { testCollections } from './support/mongodb.js';
import { clientOf } from './support/organisation.js';
import { makeKey, sharedProduct, withDb } from './support/product.js';
import { deliveryRecord } from './support/records.js';

const withKey = (key: string) => ({ headers: { 'Idempotency-Key': key } });

describe('a request with an Idempotency-Key', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const org = 'idempotency';
  const api = clientDuringTests(org);
  beforeAll(() => api.createDatabase('inbox'));

  const create = (key: string, database: string, client = api) =>
    client.request('POST', '/databases', { json: { database }, ...withKey(key) });

  const ingest = (key: string, text: string, file?: string) => {
    const form = new FormData();
    form.set('database', 'inbox');
    form.set('memories', JSON.stringify([{ text }]));
    if (file !== undefined) form.append('documents', new Blob([file]), 'note.txt');
    return api.request('POST', '/context/ingest', { body: form, ...withKey(key) });
  };

  const stored = (text: string) =>
    withDb(mongodbUri, (db) => db.collection('items').countDocuments({ org, 'source.text': text }));
  const files = () => withDb(mongodbUri, (db) => db.collection('files.files').countDocuments({ 'metadata.org': org }));

  test('is carried out once; a repeated request gets the first response, byte for byte', async () => {
    const first = await create('create-1', 'once');
    const again = await create('create-1', 'once');
    expect(first.status).toBe(202);
    expect([again.status, again.body]).toEqual([first.status, first.body]);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(statusAndCode(await api.post('/databases', { database: 'once' }))).toEqual([409, 'DATABASE_ALREADY_EXISTS']);
  });

  test('is 409 with another body; another organisation or route has its own keys', async () => {
    expect((await create('create-2', 'second')).status).toBe(202);
    expect(statusAndCode(await create('create-2', 'third'))).toEqual([409, 'IDEMPOTENCY_CONFLICT']);
    expect((await api.get('/databases/status?database=third')).status).toBe(404);
    const other = await clientOf('idempotency-other');
    expect((await create('create-2', 'third', other)).status).toBe(202);
    expect((await ingest('create-2', 'Another route is another scope.')).status).toBe(202);
  });

  test('is recognised by the content of its form, not by the boundary', async () => {
    const before = await files();
    const first = await ingest('form-1', 'The form is sent twice.', 'A file of the form.');
    const again = await ingest('form-1', 'The form is sent twice.', 'A file of the form.');
    expect(first.body.data.success_count).toBe(2);
    expect(again.body).toEqual(first.body);
    expect(await stored('The form is sent twice.')).toBe(1);
    expect(statusAndCode(await ingest('form-1', 'The form is sent twice.', 'Another file.'))).toEqual([
      409,
      'IDEMPOTENCY_CONFLICT',
    ]);
    expect(statusAndCode(await ingest('form-1', 'Another text.', 'A file of the form.'))).toEqual([
      409,
      'IDEMPOTENCY_CONFLICT',
    ]);
    expect(await files()).toBe(before + 1);
  });

  test('sent many times at once is carried out once; the others get 409 with Retry-After', async () => {
    const text = 'Sent many times at once.';
    const responses = await Promise.all(Array.from({ length: 12 }, () => ingest('crowd', text)));
    const early = responses.filter((response) => response.status === 409);
    for (const response of early) {
      expect(response.body.error?.code).toBe('IDEMPOTENCY_IN_PROGRESS');
      expect(response.headers.get('retry-after')).toBe('1');
    }
    const accepted = responses.filter((response) => response.status === 202);
    expect(accepted.length + early.length).toBe(12);
    expect(new Set(accepted.map((response) => JSON.stringify(response.body))).size).toBe(1);
    expect(await stored(text)).toBe(1);
    expect((await ingest('crowd', text)).body).toEqual(accepted[0]?.body);
  });

  test('that was rejected does not use up its key', async () => {
    expect(statusAndCode(await create('rejected', 'with space'))).toEqual([422, 'VALIDATION_ERROR']);
    expect(statusAndCode(await create('rejected', 'inbox'))).toEqual([409, 'DATABASE_ALREADY_EXISTS']);
    expect((await create('rejected', 'accepted')).status).toBe(202);
  });

  test('retries a delivery once', async () => {
    const _id = 'dlv_01jidempotent0000000000001';
    const record = deliveryRecord({ _id, org, now: new Date() });
    await withDb(mongodbUri, (db) =>
      db
        .collection<DeliveryRecord>('deliveries')
        .insertOne({ ...record, status: 'permanently_failed', next_attempt_at: null }),
    );
    const retry = () => api.request('POST', `/webhooks/indexing/deliveries/${_id}/retry`, withKey('retry-1'));
    const first = await retry();
    expect([first.status, first.body.data.queued]).toEqual([200, true]);
    expect((await retry()).body).toEqual(first.body);
  });

  test('creates one AI job and one payment authentication', async () => {
    const send = async (path: string, headers: Record<string, string>, body: unknown) => {
      const response = await fetch(apiUrl + path, {
        method: 'POST',
        headers: { ...headers, 'Idempotency-Key': 'services-1', 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    const { key } = await makeKey(mongodbUri, org);
    const job = { model: 'text/keyword_extraction/wink', input: { text: 'One lamp, one keeper.' } };
    const submit = () => send('/v3/ai/async', { Authorization: `Bearer ${key}` }, job);
    const submitted = await submit();
    expect([submitted.status, submitted.body.status]).toEqual([202, 'queued']);
    expect(await submit()).toEqual(submitted);
    expect(await withDb(mongodbUri, (db) => db.collection('ai_jobs').countDocuments({ org }))).toBe(1);

    const secretKey = (await makeKey(mongodbUri, org, 'payment_secret')).key;
    const start = (amount: number) => send('/authentication', { 'api-key': secretKey }, { amount, currency: 'EUR' });
    const started = await start(1250);
    expect([started.status, typeof started.body.client_secret]).toEqual([201, 'string']);
    expect(await start(1250)).toEqual(started);
    expect(await start(1300)).toMatchObject({ status: 409, body: { error: { code: 'IDEMPOTENCY_CONFLICT' } } });
    expect(await withDb(mongodbUri, (db) => db.collection('authentications').countDocuments({ org }))).toBe(1);
  });

  test('must have a key of 1 to 255 printable characters', async () => {
    for (const key of ['', 'x'.repeat(256), 'clé']) {
      expect([key, ...statusAndCode(await create(key, 'never'))]).toEqual([key, 400, 'INVALID_PARAMETERS']);
    }
    expect((await create(`~ ${'x'.repeat(253)}`, 'longest-key')).status).toBe(202);
  });

  test('stores neither its key nor its response in plain text', async () => {
    await create('plain-key', 'plain-name');
    const stored = await withDb(mongodbUri, (db) => db.collection('idempotency_keys').find({}).toArray());
    const text = stored.map((record) => `${JSON.stringify(record)} ${record.response?.sealed_body?.buffer}`).join('\n');
    expect(stored.length).toBeGreaterThan(0);
    expect(text).not.toMatch(/plain-(key|name)/);
  });
});

describe('a process that dies while it runs a request', () => {
  const { mongodbUri } = sharedProduct();
  const scope = { org: 'idempotency-lease', route: 'POST /databases', key: 'lease' };
  const response = { status: 202, headers: {}, body: '{"database":"lost"}' };
  let collections: Collections;

  beforeAll(async () => {
    collections = await testCollections(mongodbUri);
  });

  const keysWith = (options: { ttlMs: number; leaseMs: number }) =>
    createIdempotencyKeys(collections, createSealer(Buffer.alloc(32, 7).toString('base64')), options);
  const claimed = (outcome: Awaited<ReturnType<ReturnType<typeof keysWith>['claim']>>) => {
    if (outcome.state !== 'claimed') throw new Error(`not claimed: ${outcome.state}`);
    return outcome.claim;
  };

  test('loses its claim when the lease ends; its late writes are rejected', async () => {
    const keys = keysWith({ ttlMs: 3_600_000, leaseMs: 0 });
    const first = claimed(await keys.claim(scope, 'same request'));
    expect(await keys.claim(scope, 'another request')).toEqual({ state: 'another request' });
    const second = claimed(await keys.claim(scope, 'same request'));
    const databases = createDatabases(collections);
    const late = keys.saveWith(
      first,
      () => response,
      (tx) => databases.create(scope.org, 'late', [], tx),
    );
    await expect(late).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' });
    await expect(databases.requireForOrg(scope.org, 'late')).rejects.toMatchObject({ code: 'DATABASE_NOT_FOUND' });
    await keys.saveWith(
      second,
      () => response,
      async () => undefined,
    );
    await keys.release(second);
    expect(await keys.claim(scope, 'same request')).toEqual({ state: 'saved', response });
  });

  test('keeps its claim while the lease lasts, but not beyond the lifetime of the key', async () => {
    const key = { ...scope, key: 'held' };
    expect((await keysWith({ ttlMs: 3_600_000, leaseMs: 3_600_000 }).claim(key, 'a')).state).toBe('claimed');
    expect((await keysWith({ ttlMs: 3_600_000, leaseMs: 3_600_000 }).claim(key, 'a')).state).toBe('in progress');
    const brief = { ...scope, key: 'brief' };
    expect((await keysWith({ ttlMs: 0, leaseMs: 3_600_000 }).claim(brief, 'a')).state).toBe('claimed');
    expect((await keysWith({ ttlMs: 3_600_000, leaseMs: 3_600_000 }).claim(brief, 'b')).state).toBe('claimed');
  });
});

describe('a route that responds without a transaction', () => {
  const { mongodbUri } = sharedProduct();
  let collections: Collections;
  let server: Server;
  let url: string;
  /** The outcome of each run. */
  const outcomes: (ErrorCode | 'done')[] = [];
  let runs = 0;

  beforeAll(async () => {
    collections = await testCollections(mongodbUri);
    const sealer = createSealer(Buffer.alloc(32, 7).toString('base64'));
    const router = new Router<RequestState>();
    const operation = operations('Work', plainEnvelope);
    router.post(
      '/work',
      operation(
        {
          summary: 'Work',
          status: 201,
          response: z.object({ turn: z.int() }),
          idempotencyKeys: createIdempotencyKeys(collections, sealer, { ttlMs: 3_600_000 }),
        },
        (_ctx, { respond }) => {
          const outcome = outcomes[runs++];
          respond({ turn: runs });
          if (outcome !== undefined && outcome !== 'done') throw new ServiceError(outcome, 'as configured');
        },
      ),
    );
    const service: Service = {
      paths: ['/'],
      errors: {
        describe: ({ code }) => ({ code }),
        schema: () => z.object({ code: z.string() }),
      },
      middleware: [
        (ctx, next) => {
          const org = `idempotency-${process.pid}`;
          ctx.state.principal = { key_id: 'key_test', label: 'test', org, kind: 'api', scopes: ['write'] };
          return next();
        },
        jsonBody(),
        routesOf(router),
      ],
    };
    const log = pino({ level: 'silent' });
    const app = new Koa<RequestState>()
      .use(requestContext(log, [], { untrustedForwarding: false }))
      .use(serve([service], log));
    server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/work`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
  });

  test('runs again after a failure, and not again after a success', async () => {
    outcomes.push('INTERNAL_ERROR', 'SERVICE_UNAVAILABLE', 'RATE_LIMITED', 'VALIDATION_ERROR', 'done');
    const responses = [];
    for (let n = 0; n < 7; n++) {
      const response = await fetch(url, { method: 'POST', body: '{"a":1}', ...withKey('retried') });
      responses.push([response.status, await response.json()]);
    }
    expect(responses).toEqual([
      [500, { code: 'INTERNAL_ERROR' }],
      [503, { code: 'SERVICE_UNAVAILABLE' }],
      [429, { code: 'RATE_LIMITED' }],
      [422, { code: 'VALIDATION_ERROR' }],
      [201, { turn: 5 }],
      [201, { turn: 5 }],
      [201, { turn: 5 }],
    ]);
  });
});
