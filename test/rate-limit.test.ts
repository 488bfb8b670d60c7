import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { limitConnections } from '../api/server.js';
import { parseAllowedCidrs } from '../domain/address-rules.js';
import { createRateLimiter, type RateLimit } from '../storage/rate-limits.js';
import { type Client, createClient } from './support/client.js';
import { runCommand } from './support/command.js';
import { collectionsDuringTests } from './support/during-tests.js';
import { eventually } from './support/eventually.js';
import { testCollections } from './support/mongodb.js';
import { databaseBeside, makeKey, sharedProduct, startApi } from './support/product.js';

const log = { warn: () => undefined };

test('the log and the doctor report a proxy that is not trusted, once', async () => {
  const { mongodbUri } = sharedProduct();
  const api = await startApi(sharedProduct(), {});
  try {
    const { key } = await makeKey(mongodbUri, 'proxied');
    const doctor = async () => {
      const env = { POSTBACK_URL: api.apiUrl, POSTBACK_API_KEY: key };
      const { findings } = JSON.parse((await runCommand(['doctor', '--json'], env)).out);
      return findings.find(({ about }: { about: string }) => about === 'Proxy');
    };
    expect(await doctor()).toBeUndefined();
    const headers = { 'X-Forwarded-For': '203.0.113.7' };
    for (let n = 0; n < 2; n++) await fetch(`${api.apiUrl}/healthz`, { headers });
    expect(await doctor()).toMatchObject({
      state: 'warning',
      detail: expect.stringContaining('X-Forwarded-For'),
      advice: expect.stringContaining('POSTBACK_TRUSTED_PROXIES'),
    });
    const warnings = api.log().match(/X-Forwarded-For of a peer that is not trusted/g);
    expect(warnings).toHaveLength(1);
  } finally {
    await api.stop();
  }
});

describe('the rate limit of a key', () => {
  const { mongodbUri } = sharedProduct();
  let limited: Awaited<ReturnType<typeof startApi>>;

  beforeAll(async () => {
    limited = await startApi(sharedProduct(), {
      POSTBACK_RATE_LIMIT_PER_MINUTE: '5',
      POSTBACK_RATE_LIMIT_BURST: '4',
      POSTBACK_FAILED_LOGINS_PER_MINUTE: '3',
      POSTBACK_PUBLISHABLE_REQUESTS_PER_MINUTE: '3',
      POSTBACK_REVIEW_REQUESTS_PER_MINUTE: '3',
      POSTBACK_BODY_MEMORY_BYTES: '800000',
      POSTBACK_TRUSTED_PROXIES: '127.0.0.0/8,10.0.0.0/8',
    });
  });
  afterAll(() => limited.stop());

  const INVALID = 'pbk_api_unknown_unknown_unknown';
  const newClient = async (): Promise<Client> =>
    createClient(limited.apiUrl, (await makeKey(mongodbUri, 'limited')).key);
  /** Repeats a request that exceeds the burst: it does not count in the minute. */
  const paced = (api: Client) =>
    eventually('a response within the burst', async () => {
      const response = await api.get('/webhooks/indexing');
      return (response.status !== 429 || response.headers.get('ratelimit') !== null) && response;
    });

  test('counts the requests of review links by address, and not the page', async () => {
    const guess = async (from: string) => {
      const headers = { Authorization: 'Bearer a.guess', 'X-Forwarded-For': from };
      return (await fetch(`${limited.apiUrl}/review/output`, { headers })).status;
    };
    const guesses = [await guess('203.0.113.9'), await guess('203.0.113.9'), await guess('203.0.113.9')];
    expect([...guesses, await guess('203.0.113.9'), await guess('203.0.113.10')]).toEqual([404, 404, 404, 429, 404]);
    expect((await fetch(`${limited.apiUrl}/review`, { headers: { 'X-Forwarded-For': '203.0.113.9' } })).status).toBe(
      200,
    );
  });

  test('is a number of requests per minute; then 429 with Retry-After', async () => {
    const api = await newClient();
    const remaining: (string | null)[] = [];
    for (let n = 0; n < 5; n++) {
      const response = await paced(api);
      expect(response.status).toBe(200);
      expect(response.headers.get('ratelimit-policy')).toBe('"minute";q=5;w=60');
      remaining.push(response.headers.get('ratelimit'));
    }
    expect(remaining).toEqual([4, 3, 2, 1, 0].map((count) => expect.stringMatching(`^"minute";r=${count};t=\\d+$`)));
    const rejected = await paced(api);
    expect([rejected.status, rejected.body.error?.code, rejected.body.success]).toEqual([429, 'RATE_LIMITED', false]);
    const wait = Number(rejected.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(1);
    expect(wait).toBeLessThanOrEqual(60);
    expect((await (await newClient()).get('/webhooks/indexing')).status).toBe(200);
  });

  test('also limits bursts; rejected requests do not count in the minute', async () => {
    const api = await newClient();
    const responses = await Promise.all(Array.from({ length: 40 }, () => api.get('/webhooks/indexing')));
    const rejected = responses.filter(
      (response) => response.status === 429 && response.headers.get('ratelimit') === null,
    );
    expect(rejected.length).toBeGreaterThan(0);
    for (const response of rejected) expect(response.headers.get('retry-after')).toBe('1');
    expect(responses.filter((response) => response.status === 200).length).toBeGreaterThanOrEqual(4);
  });

  test('counts the requests to all API processes', async () => {
    const { key, record } = await makeKey(mongodbUri, 'limited');
    const collections = await testCollections(mongodbUri);
    const other = createRateLimiter(collections, log).limit('key-minute', { requests: 5, seconds: 60 })!;
    for (let n = 0; n < 5; n++) await other.take(record._id);
    await eventually('the count is written', async () => {
      return (await collections.rateLimits.findOne({ _id: `key-minute/${record._id}` }))?.requests === 5;
    });
    // A request waits a moment for the count of all processes: on a busy machine it may be decided without it. By its own count
    // this process would allow five.
    const ask = async () => (await createClient(limited.apiUrl, key).get('/webhooks/indexing')).status;
    let status = await ask();
    for (let sent = 1; sent < 5 && status !== 429; sent++) status = await ask();
    expect(status).toBe(429);
  });

  test('does not apply to health checks', async () => {
    for (let n = 0; n < 12; n++) expect((await fetch(`${limited.apiUrl}/healthz`)).status).toBe(200);
  });

  test('limits the memory of bodies in progress; one organisation may use half of it', async () => {
    const ofOrg = async (org: string) => createClient(limited.apiUrl, (await makeKey(mongodbUri, org)).key);
    const message = async (org: string, bytes: number) =>
      (await (await ofOrg(org)).post('/query', { query: 'x'.repeat(bytes) })).body.error?.message;
    const TOO_MANY = 'Too many large requests of your organisation are in progress; retry later.';
    expect(await message('one', 600_000)).toBe(TOO_MANY);
    expect(await message('one', 400_000)).not.toBe(TOO_MANY);

    const begin = (key: string) => {
      const socket = connect(Number(new URL(limited.apiUrl).port), '127.0.0.1').resume();
      socket.write(
        `POST /context/ingest HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nAPI-Version: 2\r\n` +
          'Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000000\r\n\r\n' +
          `--b\r\nContent-Disposition: form-data; name="memories"\r\n\r\n${'x'.repeat(300_000)}`,
      );
      return socket;
    };
    /** @returns the connection of a form in progress, which uses most of the share of its organisation */
    const occupy = async (org: string) => {
      const { key } = await makeKey(mongodbUri, org);
      let socket = begin(key);
      await eventually('no room for another', async () => {
        if (socket.bytesRead === 0) return (await message(org, 400_000)) === TOO_MANY;
        // The form itself found no room, because the message before had not ended.
        socket.destroy();
        socket = begin(key);
        return false;
      });
      return socket;
    };
    const ofOne = await occupy('one');
    expect(await message('two', 400_000)).not.toBe(TOO_MANY);
    expect(await message('one', 10_000)).not.toBe(TOO_MANY);
    const ofTwo = await occupy('two');
    // A form has no room for another of its organisation long before all of it has arrived.
    const three = await ofOrg('three');
    const unavailable = await eventually('no room for others', async () => {
      const response = await three.post('/query', { query: 'x'.repeat(400_000) });
      return response.status === 503 && response;
    });
    expect(unavailable.body.error?.code).toBe('SERVICE_UNAVAILABLE');
    expect(Number(unavailable.headers.get('retry-after'))).toBeGreaterThan(0);
    ofTwo.destroy();
    ofOne.destroy();
    await eventually('room again', async () => (await message('one', 400_000)) !== TOO_MANY);

    // What arrives after the response takes no room.
    const { port } = new URL(limited.apiUrl);
    const rejected = connect(Number(port), '127.0.0.1');
    const { key } = await makeKey(mongodbUri, 'one');
    const part = (name: string, value: string) =>
      `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const form = `${part('x', '').repeat(60)}${part('memories', 'x'.repeat(900_000))}--b--\r\n`;
    let received = '';
    rejected.setEncoding('latin1').on('data', (text) => {
      received += text;
    });
    rejected.write(
      `POST /context/ingest HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nAPI-Version: 2\r\n` +
        `Content-Type: multipart/form-data; boundary=b\r\nContent-Length: ${form.length}\r\n\r\n${form}` +
        'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
    );
    await eventually('both responses', () => /^HTTP\/1\.1 422 .*HTTP\/1\.1 200 /s.test(received));
    rejected.destroy();
    expect(await message('one', 400_000)).not.toBe(TOO_MANY);

    // Files are stored while they arrive.
    const files = [{ name: 'a.txt', content: 'x'.repeat(700_000) }];
    const response = await (await ofOrg('one')).ingest({ database: 'no-such' }, files);
    expect(response.body.error?.code).toBe('DATABASE_NOT_FOUND');
  });

  describe('of slow requests', () => {
    // A process of its own, because a busy machine can make any request slow.
    let strict: Awaited<ReturnType<typeof startApi>>;
    /** Of the requests that take seconds, which arrive at the same time. */
    let responses: Record<'json' | 'form' | 'slowForm', Promise<string>>;
    beforeAll(async () => {
      strict = await startApi(sharedProduct(), {
        POSTBACK_SLOW_REQUEST_SECONDS: '1',
        POSTBACK_UPLOAD_BYTES_PER_SECOND: '1',
      });
      const { key } = await makeKey(mongodbUri, 'slow');
      responses = {
        json: trickle(`${head('/query', key)}Content-Length: 100000\r\n\r\n{`),
        form: trickle(`${formHead(key)}Content-Length: 100000\r\n\r\n--b\r\n`, 3),
        slowForm: trickleForm(key),
      };
    });
    afterAll(() => strict.stop());

    const head = (path: string, key: string) =>
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nAPI-Version: 2\r\n`;
    const formHead = (key: string) =>
      `${head('/context/ingest', key)}Content-Type: multipart/form-data; boundary=b\r\n`;

    /**
     * Sends bytes slowly until the connection ends.
     * @param limit sends no more bytes than this
     * @param enough ends the connection when it returns true
     * @returns what was received
     */
    async function trickle(
      start: string,
      limit = Number.POSITIVE_INFINITY,
      enough: (received: string) => boolean = () => false,
    ): Promise<string> {
      const socket = connect(Number(new URL(strict.apiUrl).port), '127.0.0.1');
      let received = '';
      socket.on('data', (chunk) => {
        received += chunk;
        if (enough(received)) socket.destroy();
      });
      socket.on('error', () => undefined);
      socket.write(start);
      let sent = 0;
      const timer = setInterval(() => sent++ < limit && socket.write('x'), 50);
      await new Promise<void>((resolve) => socket.once('close', () => resolve()));
      clearInterval(timer);
      return received;
    }

    test('closes connections whose headers do not arrive', async () => {
      expect(await trickle('GET /databases HTTP/1.1\r\nX-Slow: ')).toMatch(/^(HTTP\/1.1 408 |$)/);
    });

    test('rejects a request without a valid key before its body, and closes the connection', async () => {
      const paths = ['/query', '/v3/ai/async', '/crews/any/kickoff', '/context/ingest'];
      const received = paths.map((path) => trickle(`${head(path, INVALID)}Content-Length: 100000\r\n\r\n`));
      for (const response of await Promise.all(received)) expect(response).toMatch(/^HTTP\/1.1 (401|429) /);
    });

    /** A form that takes longer than a JSON body may. */
    function trickleForm(key: string): Promise<string> {
      const part = '--b\r\nContent-Disposition: form-data; name="database"\r\n\r\nno-such\r\n--b--\r\n';
      const rest = 150;
      const form = `${formHead(key)}Content-Length: ${part.length + rest}\r\n\r\n${part}`;
      return trickle(form, rest, (text) => text.includes('}'));
    }

    test('closes a connection with a valid key whose JSON body does not arrive', async () => {
      expect(await responses.json).not.toContain(' 200 ');
    });

    test('closes a connection with a valid key whose form does not arrive', async () => {
      expect(await responses.form).not.toContain(' 20');
    });

    test('accepts a form that arrives more slowly than a JSON body may', async () => {
      expect(await responses.slowForm).toContain('DATABASE_NOT_FOUND');
    });
  });

  describe('by address', () => {
    const newAddress = () => `198.51.${randomInt(256)}.${randomInt(256)}`;
    const get = (key: string, forwarded: string) =>
      createClient(limited.apiUrl, key).request('GET', '/webhooks/indexing', {
        headers: { 'X-Forwarded-For': forwarded },
      });

    test('rejects requests with invalid keys from one address; valid keys and other addresses are not affected', async () => {
      const address = newAddress();
      for (let n = 0; n < 3; n++) expect((await get(INVALID, address)).status).toBe(401);
      const rejected = await get(INVALID, address);
      expect([rejected.status, rejected.body.error?.code]).toEqual([429, 'RATE_LIMITED']);
      expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
      const { key } = await makeKey(mongodbUri, 'limited');
      expect((await get(key, address)).status).toBe(200);
      expect((await get(INVALID, newAddress())).status).toBe(401);
      // The shape of errors is that of the service.
      const asked = await fetch(`${limited.apiUrl}/authentication/x`, {
        headers: { 'api-key': 'pbk_sk_unknown_unknown_unknown', 'X-Forwarded-For': address },
      });
      expect([asked.status, ((await asked.json()) as { error: object }).error]).toEqual([
        429,
        { type: 'rate_limit_error', code: 'RATE_LIMITED', message: expect.any(String) },
      ]);
    });

    test('believes only what trusted proxies add to X-Forwarded-For', async () => {
      const address = newAddress();
      // The client invents the first address; the last ones are of trusted proxies.
      for (let n = 0; n < 3; n++)
        expect((await get(INVALID, `${newAddress()}, ${address}, 10.1.2.3`)).status).toBe(401);
      expect((await get(INVALID, `${newAddress()}, ${address}:4711`)).status).toBe(429);
    });

    test('counts an IPv6 address by its network of 64 bits', async () => {
      const network = `2001:db8:${randomInt(0xffff).toString(16)}:1`;
      for (let n = 1; n <= 3; n++) expect((await get(INVALID, `${network}::${n}`)).status).toBe(401);
      expect((await get(INVALID, `[${network}:a:b:c:d]:443`)).status).toBe(429);
    });

    test('limits a publishable key', async () => {
      const { key } = await makeKey(mongodbUri, 'limited', 'payment_publishable');
      const check = async (address: string) => {
        const path = `${limited.apiUrl}/authentication/auth_${randomUUID()}/eligibility-check`;
        const response = await fetch(path, { headers: { 'api-key': key, 'X-Forwarded-For': address } });
        return response.status;
      };
      const address = newAddress();
      for (let n = 0; n < 3; n++) expect(await check(address)).toBe(401);
      expect(await check(address)).toBe(429);
      expect(await check(newAddress())).toBe(401);
    });

    test('does not apply to a secret key of payments, which has the limit of a key', async () => {
      const { key } = await makeKey(mongodbUri, 'limited', 'payment_secret');
      const check = () =>
        fetch(`${limited.apiUrl}/authentication/auth_unknown/eligibility-check`, { headers: { 'api-key': key } });
      expect((await check()).headers.get('ratelimit')).toMatch(/^"minute";r=4;/);
      await eventually('the limit', async () => (await check()).status === 429);
    });
  });
});

describe('rate limits of several processes', () => {
  const uri = databaseBeside(sharedProduct().mongodbUri, 'rate-limits');
  const collections = collectionsDuringTests(uri);
  /** As another process has it. */
  const newLimit = (requests: number, seconds: number) =>
    createRateLimiter(collections, log).limit('test', { requests, seconds })!;

  const allowedBy = async (limits: readonly RateLimit[], key: string) => {
    const allowed: boolean[] = [];
    for (const limit of limits) allowed.push((await limit.take(key)).allowed);
    return allowed;
  };
  const written = (id: string, requests: number) =>
    eventually('the count is written', async () => {
      return (await collections.rateLimits.findOne({ _id: id }))?.requests === requests;
    });

  test('are shared: a request that one process has counted is counted for all', async () => {
    const [one, other] = [newLimit(200, 60), newLimit(200, 60)];
    for (let n = 0; n < 200; n++) expect((await one.take('shared')).allowed).toBe(true);
    expect((await one.take('shared')).allowed).toBe(false);
    await written('test/shared', 200);
    // A request waits a moment for the count of all: on a busy machine some are decided without it, far fewer than the limit.
    const rejected = async () => {
      const state = await other.take('shared');
      return !state.allowed && state;
    };
    const { remaining, seconds } = await eventually('the other rejects', rejected, 30_000);
    expect([remaining, seconds > 1]).toEqual([0, true]);
    expect((await other.take('another key')).allowed).toBe(true);
  });

  test('are shared while several processes count', async () => {
    const limits = [newLimit(30, 60), newLimit(30, 60), newLimit(30, 60)];
    let allowed = 0;
    await eventually('all reject', async () => {
      const states = await Promise.all(limits.map((limit) => limit.take('together')));
      allowed += states.filter((state) => state.allowed).length;
      return states.every((state) => !state.allowed);
    });
    // Each may keep a second's requests to itself.
    expect(allowed).toBeGreaterThanOrEqual(30);
    expect(allowed).toBeLessThan(2 * 30);
  });

  test('start again when the window has ended', async () => {
    const [one, other] = [newLimit(2, 1), newLimit(2, 1)];
    let keys = 0;
    // On a busy machine, a window can end between two requests.
    const key = await eventually('a window that is used up', async () => {
      const next = `short-${keys++}`;
      return String(await allowedBy([one, one, one], next)) === 'true,true,false' && next;
    });
    await eventually('allowed again', async () => (await one.take(key)).allowed);
    await eventually('allowed again by the other', async () => (await other.take(key)).allowed);
  });

  test('do not write for each request', async () => {
    const limit = newLimit(10_000, 60);
    const writes = async () => {
      const { totals } = await collections.mongoClient.db('admin').command({ top: 1 });
      return totals[`${collections.db.databaseName}.rate_limits`].writeLock.count as number;
    };
    await collections.rateLimits.insertOne({ _id: 'first', requests: 0, ends_at: new Date() });
    const before = await writes();
    for (let n = 0; n < 6_000; n++) await limit.take('busy');
    await written('test/busy', 6_000);
    expect((await writes()) - before).toBeLessThan(20);
  });

  test('hold in each process while MongoDB is away', async () => {
    const client = new MongoClient('mongodb://127.0.0.1:1', { serverSelectionTimeoutMS: 20 });
    let warnings = 0;
    const limiter = createRateLimiter(
      { rateLimits: client.db().collection('rate_limits') },
      {
        warn() {
          warnings += 1;
        },
      },
    );
    const limit = limiter.limit('test', { requests: 2, seconds: 60 })!;
    expect(await allowedBy([limit, limit, limit], 'alone')).toEqual([true, true, false]);
    await eventually('a warning', () => warnings > 0);
    expect((await limit.take('alone')).allowed).toBe(false);
    await client.close();
  });
});

describe('the connections of one address', () => {
  test.each([
    ['are limited', '', 2],
    ['are not limited when it is a trusted proxy', '127.0.0.0/8', 4],
  ])('%s', async (_, trusted, expected) => {
    const server = createServer((_request, response) => response.end());
    server.on('connection', limitConnections(2, parseAllowedCidrs(trusted)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const ask = async () => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
      const answered = await new Promise<boolean>((resolve) => {
        socket.once('data', () => resolve(true)).once('close', () => resolve(false));
      });
      return { socket, answered };
    };
    const first = await Promise.all(Array.from({ length: 4 }, ask));
    expect(first.filter(({ answered }) => answered)).toHaveLength(expected);
    for (const { socket } of first) socket.destroy();
    await eventually('room for another connection', async () => {
      const { socket, answered } = await ask();
      socket.destroy();
      return answered;
    });
    server.close();
    await once(server, 'close');
  });
});
