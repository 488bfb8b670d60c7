import { beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { createMerchant, errorOf, type Merchant } from '../support/payments.js';
import { makeKey, sharedProduct, withDb } from '../support/product.js';

const NETWORKS = { network_a: { consumerPresent: true } };
const UNAUTHORIZED_ERROR = [401, 'authentication_error', 'UNAUTHORIZED'];

describe('access to authentications', () => {
  const product = sharedProduct();
  let merchant: Merchant;
  let otherMerchant: Merchant;

  beforeAll(async () => {
    merchant = await createMerchant(product, 'payment-access');
    otherMerchant = await createMerchant(product, 'payment-access-other');
  });

  const checkOf = (secret: unknown) => ({
    json: { client_secret: secret, eligibility_check_data: { click_to_pay: NETWORKS } },
  });
  /** The visible parts of a response, without the parts that differ for every response. */
  const visible = ({ status, headers, body }: { status: number; headers: Headers; body: unknown }) => ({
    status,
    body,
    headers: [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name)),
  });

  test('each route accepts its kind of key', async () => {
    const { id, secret } = await merchant.start();
    const api = (await makeKey(product.mongodbUri, merchant.org)).key;
    const forbidden = [403, 'permission_error', 'FORBIDDEN'];
    for (const [method, path] of [
      ['POST', '/authentication'],
      ['GET', `/authentication/${id}`],
      ['POST', `/authentication/${id}/close`],
    ] as const) {
      expect([path, errorOf(await merchant.browser(method, path))]).toEqual([path, forbidden]);
      expect([path, errorOf(await merchant.request(api, method, path))]).toEqual([path, forbidden]);
      expect([path, errorOf(await merchant.request('', method, path))]).toEqual([path, UNAUTHORIZED_ERROR]);
      expect([path, errorOf(await merchant.request('nonsense', method, path))]).toEqual([path, UNAUTHORIZED_ERROR]);
    }
    const path = `/authentication/${id}/eligibility-check`;
    expect((await merchant.browser('POST', path, checkOf(secret))).status).toBe(200);
    expect((await merchant.server('GET', path)).body.sdk_next_action).toBe('await_merchant_callback');
    expect((await merchant.browser('GET', path, { headers: { 'client-secret': secret } })).status).toBe(200);
  });

  test('a check without valid credentials is rejected with the same response in every case', async () => {
    const { id, secret } = await merchant.start();
    const other = await merchant.start();
    const foreign = await otherMerchant.start();
    const expired = await makeKey(product.mongodbUri, merchant.org, 'payment_publishable', new Date(0));
    const revoked = await makeKey(product.mongodbUri, merchant.org, 'payment_publishable');
    await withDb(product.mongodbUri, (db) =>
      db
        .collection<{ _id: string }>('api_keys')
        .updateOne({ _id: revoked.record._id }, { $set: { revoked_at: new Date() } }),
    );
    const valid = merchant.publishableKey;
    const unknown = `auth_${'0'.repeat(26)}`;
    const cases: Record<string, [key: string, id: string, secret: string | undefined]> = {
      'no key': ['', id, secret],
      'an unknown key': ['pbk_pk_nonsense_nonsense', id, secret],
      'an expired key': [expired.key, id, secret],
      'a revoked key': [revoked.key, id, secret],
      'a key of another service': [(await makeKey(product.mongodbUri, merchant.org)).key, id, secret],
      "another organisation's key": [otherMerchant.publishableKey, id, secret],
      'no client secret': [valid, id, undefined],
      'an empty client secret': [valid, id, ''],
      'a client secret that is too long': [valid, id, `${secret}x`],
      'the client secret of another authentication': [valid, id, other.secret],
      'an unknown authentication': [valid, unknown, secret],
      "another organisation's authentication": [valid, foreign.id, foreign.secret],
    };
    const rejected = await merchant.check({ id, secret: 'wrong' }, NETWORKS);
    expect(errorOf(rejected)).toEqual(UNAUTHORIZED_ERROR);
    for (const [what, [key, authentication, given]] of Object.entries(cases)) {
      const path = `/authentication/${authentication}/eligibility-check`;
      const posted = await merchant.request(key, 'POST', path, checkOf(given));
      expect([what, visible(posted)]).toEqual([what, visible(rejected)]);
      const read = await merchant.request(key, 'GET', path, {
        headers: given === undefined ? {} : { 'client-secret': given },
      });
      expect([what, visible(read)]).toEqual([what, visible(rejected)]);
    }
    const bySecretKey = await merchant.server('POST', `/authentication/${id}/eligibility-check`, checkOf(secret));
    expect([bySecretKey.status, bySecretKey.body]).toEqual([rejected.status, rejected.body]);
    expect((await merchant.server('GET', `/authentication/${id}`)).body.status).toBe('started');
  });

  test('an authentication of another organisation is not found', async () => {
    const { id } = await merchant.start();
    for (const unknown of [id, 'auth_unknown']) {
      for (const [method, path] of [
        ['GET', `/authentication/${unknown}`],
        ['POST', `/authentication/${unknown}/close`],
        ['GET', `/authentication/${unknown}/eligibility-check`],
      ] as const) {
        const response = await otherMerchant.server(method, path);
        expect([path, ...errorOf(response)]).toEqual([path, 404, 'invalid_request_error', 'AUTHENTICATION_NOT_FOUND']);
      }
    }
    expect((await merchant.server('GET', `/authentication/${id}`)).body.status).toBe('started');
  });

  test('an unknown route has an error in the shape of the service, with the request id', async () => {
    const response = await merchant.server('PUT', '/authentication/x/y', { headers: { 'X-Request-Id': 'mine-2' } });
    expect(errorOf(response)).toEqual([404, 'invalid_request_error', 'NOT_FOUND']);
    expect(Object.keys(response.body.error)).toEqual(['type', 'code', 'message']);
    expect(response.headers.get('x-request-id')).toBe('mine-2');
  });

  describe('from a browser', () => {
    const origin = { Origin: 'https://shop.example' };
    const preflight = (path: string, method: string) =>
      merchant.request('', 'OPTIONS', path, {
        headers: { ...origin, 'Access-Control-Request-Method': method, 'Access-Control-Request-Headers': 'api-key' },
      });
    const allowedOrigin = (headers: Headers) => headers.get('access-control-allow-origin');

    test('the check is allowed: preflight, result and error', async () => {
      const started = await merchant.start();
      const path = `/authentication/${started.id}/eligibility-check`;
      const preflighted = await preflight(path, 'POST');
      expect([preflighted.status, allowedOrigin(preflighted.headers)]).toEqual([204, '*']);
      expect(preflighted.headers.get('access-control-allow-methods')).toBe('GET,POST');
      expect(preflighted.headers.get('access-control-allow-headers')).toBe(
        'api-key,client-secret,Content-Type,X-Request-Id',
      );
      expect(preflighted.headers.get('access-control-allow-credentials')).toBeNull();
      const response = await merchant.check(started, NETWORKS, { headers: origin });
      expect([response.status, allowedOrigin(response.headers)]).toEqual([200, '*']);
      expect(response.headers.get('access-control-expose-headers')).toBe('Retry-After,X-Request-Id');
      const rejected = await merchant.check({ ...started, secret: 'wrong' }, NETWORKS, { headers: origin });
      expect([rejected.status, allowedOrigin(rejected.headers)]).toEqual([401, '*']);
    });

    test('routes for secret keys are not allowed', async () => {
      const { id } = await merchant.start();
      for (const [method, path] of [
        ['POST', '/authentication'],
        ['GET', `/authentication/${id}`],
        ['POST', `/authentication/${id}/close`],
      ] as const) {
        const preflighted = await preflight(path, method);
        expect([path, preflighted.status, allowedOrigin(preflighted.headers)]).toEqual([path, 401, null]);
        const response = await merchant.server(method, path, {
          json: { amount: 1, currency: 'EUR' },
          ...(method === 'GET' ? { json: undefined } : {}),
          headers: origin,
        });
        expect([path, response.status < 300, allowedOrigin(response.headers)]).toEqual([path, true, null]);
      }
      const path = `/authentication/${id}/eligibility-check`;
      expect(allowedOrigin((await merchant.server('GET', path, { headers: origin })).headers)).toBeNull();
    });
  });

  describe('the limit of requests', () => {
    const LIMIT = 30;
    const LIMITED = [429, 'rate_limit_error', 'RATE_LIMITED'];

    test('counts wrong client secrets apart, so that a stranger cannot lock the customer out', async () => {
      const attacked = await merchant.start();
      const responses = await Promise.all(
        Array.from({ length: LIMIT }, () => merchant.check({ ...attacked, secret: 'wrong' }, NETWORKS)),
      );
      expect(responses.map(({ status }) => status)).toEqual(Array(LIMIT).fill(401));
      const rejected = await merchant.check({ ...attacked, secret: 'wrong' }, NETWORKS, {
        headers: { Origin: 'https://shop.example' },
      });
      expect(errorOf(rejected)).toEqual(LIMITED);
      const wait = Number(rejected.headers.get('retry-after'));
      expect(wait).toBeGreaterThan(0);
      expect(wait).toBeLessThanOrEqual(60);
      expect(rejected.headers.get('access-control-allow-origin')).toBe('*');

      expect((await merchant.check(attacked, NETWORKS)).status).toBe(200);
      expect((await merchant.getEligibilityResult(attacked)).status).toBe(200);
      expect((await merchant.server('GET', `/authentication/${attacked.id}`)).status).toBe(200);
    });

    test('applies to the customer of one authentication', async () => {
      const [busy, quiet] = [await merchant.start(), await merchant.start()];
      for (let sent = 0; sent < LIMIT; sent++) expect((await merchant.check(busy, NETWORKS)).status).toBe(200);
      expect(errorOf(await merchant.check(busy, NETWORKS))).toEqual(LIMITED);
      expect(errorOf(await merchant.getEligibilityResult(busy))).toEqual(LIMITED);
      expect((await merchant.check(quiet, NETWORKS)).status).toBe(200);
      expect((await merchant.server('GET', `/authentication/${busy.id}`)).status).toBe(200);
      expect((await otherMerchant.check(busy, NETWORKS)).status).toBe(401);
    });

    test('does not reveal whether the authentication exists', async () => {
      const unknown = { id: `auth_${'1'.repeat(26)}`, secret: 'wrong' };
      for (let sent = 0; sent < LIMIT; sent++) expect((await merchant.check(unknown, NETWORKS)).status).toBe(401);
      expect(errorOf(await merchant.check(unknown, NETWORKS))).toEqual(LIMITED);
    });

    test('does not count an id without the form of one, nor look for it', async () => {
      const counted = () =>
        withDb(product.mongodbUri, (db) => db.collection('rate_limits').countDocuments({ _id: /auth_x/ as never }));
      for (const id of ['auth_x', `auth_x${'0'.repeat(26)}`, 'auth_x%00', `auth_x${'y'.repeat(200)}`]) {
        for (let sent = 0; sent <= LIMIT; sent++) {
          expect((await merchant.check({ id, secret: 'wrong' }, NETWORKS)).status).toBe(401);
        }
        expect(errorOf(await merchant.server('GET', `/authentication/${id}`))).toEqual([
          404,
          'invalid_request_error',
          'AUTHENTICATION_NOT_FOUND',
        ]);
      }
      // Written after a request about a real one, whose count is written last.
      const { id } = await merchant.start();
      await merchant.server('GET', `/authentication/${id}`);
      await eventually('the count is written', () =>
        withDb(product.mongodbUri, (db) =>
          db.collection('rate_limits').findOne({ _id: new RegExp(`${id}$`) as never }),
        ),
      );
      expect(await counted()).toBe(0);
    });

    test('applies to the merchant too', async () => {
      const { id } = await merchant.start();
      for (let sent = 0; sent < LIMIT; sent++) await merchant.server('GET', `/authentication/${id}`);
      expect(errorOf(await merchant.server('GET', `/authentication/${id}`))).toEqual(LIMITED);
      expect(errorOf(await merchant.server('POST', `/authentication/${id}/close`))).toEqual(LIMITED);
    });
  });
});
