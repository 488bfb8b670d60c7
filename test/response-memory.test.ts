import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import Router from '@koa/router';
import Koa from 'koa';
import { pino } from 'pino';
import { z } from 'zod';
import { limitBodyMemory } from '../api/body-memory.js';
import { plainEnvelope } from '../api/envelope.js';
import { jsonBody } from '../api/json-body.js';
import { operations } from '../api/operation.js';
import { type RequestContext, type RequestState, requestContext } from '../api/request-context.js';
import { sendContent } from '../api/send-content.js';
import { routesOf, type Service, serve } from '../api/service.js';
import { ServiceError } from '../domain/errors.js';
import { createSealer } from '../domain/sealing.js';
import { DAY_MS } from '../domain/webhooks/delivery-policy.js';
import { createAiJobs } from '../storage/ai-jobs/jobs.js';
import { createIdempotencyKeys } from '../storage/idempotency-keys.js';
import { collectionsDuringTests, duringTests } from './support/during-tests.js';
import { eventually } from './support/eventually.js';
import { startHttpServer } from './support/http-server.js';
import { createJobClient } from './support/job-client.js';
import { makeKey, sharedProduct, startApi } from './support/product.js';
import { aiJobRecord } from './support/records.js';

describe('large responses', () => {
  const { mongodbUri } = sharedProduct();
  const collections = collectionsDuringTests(mongodbUri);
  let api: Awaited<ReturnType<typeof startApi>>;
  beforeAll(async () => {
    api = await startApi(sharedProduct(), {});
  });
  afterAll(() => api?.stop());

  /** A job of the organisation whose result has 16 MB: more than a connection holds whose client does not read. */
  async function largeJob(org: string) {
    const aiJobs = createAiJobs(collections, DAY_MS);
    const now = new Date();
    const job = { ...aiJobRecord({ org, now }), status: 'success' as const, finished_at: now };
    await aiJobs.add(job);
    await aiJobs.saveResult(org, job._id, { output: JSON.stringify({ text: 'x'.repeat(16_000_000) }), original: null });
    const { key } = await makeKey(mongodbUri, org);
    return { key, path: `/v3/ai/async/${job._id}`, client: createJobClient(api.apiUrl, key) };
  }

  test('count until their clients have read them, and one organisation may use half of the memory', async () => {
    const { key, path, client } = await largeJob('unread');
    const other = await largeJob('unread-other');
    const unread: IncomingMessage[] = [];
    for (let n = 0; n < 4; n += 1) {
      const request = get(api.apiUrl + path, { headers: { Authorization: `Bearer ${key}` }, agent: false });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      unread.push(response.on('error', () => undefined));
    }
    expect(unread.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
    const { status, body, headers } = await client.get(path);
    expect([status, body.error, headers.get('retry-after')]).toEqual([
      429,
      {
        code: 'RATE_LIMITED',
        message: 'Too many large requests of your organisation are in progress; retry later.',
      },
      '1',
    ]);
    expect((await client.get('/v3/ai/async')).status).toBe(200);
    expect((await other.client.get(other.path)).body.output.text).toHaveLength(16_000_000);
    for (const response of unread) response.destroy();
    await eventually('room again', async () => (await client.get(path)).status === 200);
  });
});

/** What a route can respond with. */
const RESPONSES: Record<string, (ctx: RequestContext, respond: (data: unknown) => void) => unknown> = {
  object: (_ctx, respond) => respond({ text: 'é<b>', none: undefined, at: new Date(0) }),
  list: (_ctx, respond) => respond([1, 'ü', null]),
  'large object': (_ctx, respond) => respond({ text: 'é'.repeat(200_000) }),
  text: (_ctx, respond) => respond('é'),
  'large text': (_ctx, respond) => respond('é'.repeat(200_000)),
  markup: (_ctx, respond) => respond('<p>é'),
  'empty text': (_ctx, respond) => respond(''),
  number: (_ctx, respond) => respond(7),
  null: (_ctx, respond) => respond(null),
  json(ctx) {
    ctx.type = 'application/json';
    ctx.body = '{"n": 1.0}';
  },
  pem(ctx, respond) {
    respond('pem');
    ctx.type = 'application/x-pem-file';
  },
  accepted(ctx) {
    ctx.body = null;
    ctx.status = 202;
  },
  'no content'(ctx) {
    ctx.status = 204;
  },
  'not modified'(ctx, respond) {
    ctx.set('ETag', '"1"');
    respond({ text: 'é' });
    ctx.status = 304;
  },
  bytes(ctx) {
    ctx.body = Buffer.from('é');
  },
  stream(ctx) {
    ctx.body = Readable.from(['a', 'b']);
  },
  file: (ctx) =>
    sendContent(
      ctx,
      {
        filename: 'ü.txt',
        type: 'text/plain',
        size: 3,
        read: (start, end) => Readable.from(Buffer.from('abc').subarray(start, end)),
      },
      '"1"',
    ),
  nothing: () => undefined,
  'error after a response'(_ctx, respond) {
    respond('é');
    throw new ServiceError('NOT_FOUND', 'é');
  },
};

describe('a service whose memory is limited', () => {
  const collections = collectionsDuringTests(sharedProduct().mongodbUri);

  /** @param maxBytes null: without the limit */
  async function startWith(maxBytes: number | null, org: string, responses: typeof RESPONSES) {
    const sealer = createSealer(Buffer.alloc(32, 7).toString('base64'));
    const router = new Router<RequestState>();
    const operation = operations('Test', plainEnvelope);
    const idempotencyKeys = createIdempotencyKeys(collections, sealer, { ttlMs: DAY_MS });
    for (const [name, handle] of Object.entries(responses)) {
      const path = `/${name.replaceAll(' ', '-')}`;
      const declared = { summary: name, response: z.unknown() };
      router.get(
        path,
        operation(declared, async (ctx, { respond }) => void (await handle(ctx, respond))),
      );
      router.post(
        path,
        operation(
          { ...declared, status: 201, idempotencyKeys },
          async (ctx, { respond }) => void (await handle(ctx, respond)),
        ),
      );
    }
    const service: Service = {
      paths: ['/'],
      errors: { describe: ({ code, message }) => ({ code, message }), schema: () => z.unknown() },
      middleware: [
        (ctx, next) => {
          ctx.state.principal = { key_id: 'key_test', label: 'test', org, kind: 'api', scopes: ['read', 'write'] };
          return next();
        },
        jsonBody(),
        routesOf(router),
      ],
    };
    const log = pino({ level: 'silent' });
    const app = new Koa<RequestState>();
    // Clients of these tests leave before they have read a response.
    app.silent = true;
    app.use(requestContext(log, [], { untrustedForwarding: false }));
    if (maxBytes !== null) app.use(limitBodyMemory(maxBytes));
    app.use(serve([service], log));
    return startHttpServer(app.callback());
  }
  const limited = duringTests(() => startWith(16 * 1024 * 1024, 'response-memory-limited', RESPONSES));
  const plain = duringTests(() => startWith(null, 'response-memory-plain', RESPONSES));
  const small = duringTests(() =>
    startWith(400_000, 'response-memory-small', { large: (_ctx, respond) => respond('x'.repeat(16_000_000)) }),
  );

  const ask = async (url: string, method: string, headers: Record<string, string>) => {
    const response = await fetch(url, { method, headers });
    const kept = [...response.headers].filter(([name]) => !/^(date|x-request-id)$/.test(name));
    return { status: response.status, headers: Object.fromEntries(kept), body: await response.text() };
  };

  test.each(Object.keys(RESPONSES))('responds the same as without a limit: %s', async (name) => {
    const requests: [method: string, headers: Record<string, string>][] = [
      ['GET', {}],
      ['HEAD', {}],
      ['GET', { Range: 'bytes=1-' }],
      ['GET', { 'If-None-Match': '"1"' }],
      ['POST', {}],
      ['POST', { 'Idempotency-Key': name }],
      ['POST', { 'Idempotency-Key': name }],
    ];
    for (const request of requests) {
      const path = `/${name.replaceAll(' ', '-')}`;
      const response = await ask(limited.url + path, ...request);
      expect([request, response]).toEqual([request, await ask(plain.url + path, ...request)]);
    }
  });

  test('sends a response that is larger than all of the memory alone, and one of work that was done in any case', async () => {
    const large = (method: string) => ask(`${small.url}/large`, method, {});
    const [unread] = (await once(get(`${small.url}/large`, { agent: false }), 'response')) as [IncomingMessage];
    expect((await large('GET')).status).toBe(429);
    expect(await large('POST')).toMatchObject({ status: 201, body: 'x'.repeat(16_000_000) });
    unread.on('error', () => undefined).destroy();
    await eventually('room again', async () => (await large('GET')).status === 200);
  });
});
