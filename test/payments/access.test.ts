import { beforeAll, describe, expect, test } from '@jest/globals';
import { createMerchant, errorOf, type Merchant } from '../support/payments.js';
import { makeKey, sharedProduct, withDb } from '../support/product.js';

const NETWORKS = { network_a: { consumerPresent: true } };
const UNPROVEN = [401, 'authentication_error', 'UNAUTHORIZED'];

describe('who may do what with an authentication', () => {
  const product = sharedProduct();
  let merchant: Merchant;
  let stranger: Merchant;

  beforeAll(async () => {
    merchant = await createMerchant(product, 'payment-access');
    stranger = await createMerchant(product, 'payment-strangers');
  });

  const checkOf = (secret: unknown) => ({
    json: { client_secret: secret, eligibility_check_data: { click_to_pay: NETWORKS } },
  });
  /** All that a client can see of an answer but what is made anew for each. */
  const seen = ({ status, headers, body }: { status: number; headers: Headers; body: unknown }) => ({
    status,
    body,
    headers: [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name)),
  });

  test('each route takes its kind of key', async () => {
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
      expect([path, errorOf(await merchant.request('', method, path))]).toEqual([path, UNPROVEN]);
      expect([path, errorOf(await merchant.request('nonsense', method, path))]).toEqual([path, UNPROVEN]);
    }
    const path = `/authentication/${id}/eligibility-check`;
    expect((await merchant.browser('POST', path, checkOf(secret))).status).toBe(200);
    expect((await merchant.server('GET', path)).body.sdk_next_action).toBe('await_merchant_callback');
    expect((await merchant.browser('GET', path, { headers: { 'client-secret': secret } })).status).toBe(200);
  });

  test('a check that proves nothing is refused in one way, whatever is wrong', async () => {
    const { id, secret } = await merchant.start();
    const other = await merchant.start();
    const foreign = await stranger.start();
    const expired = await makeKey(product.mongodbUri, merchant.org, 'payment_publishable', new Date(Date.now() - 1000));
    const revoked = await makeKey(product.mongodbUri, merchant.org, 'payment_publishable');
    await withDb(product.mongodbUri, (db) =>
      db
        .collection<{ _id: string }>('api_keys')
        .updateOne({ _id: revoked.record._id }, { $set: { revoked_at: new Date() } }),
    );
    const good = merchant.publishableKey;
    const unknown = `auth_${'0'.repeat(26)}`;
    const cases: Record<string, [key: string, id: string, secret: string | undefined]> = {
      'no key': ['', id, secret],
      'an unknown key': ['pbk_pk_nonsense_nonsense', id, secret],
      'an expired key': [expired.key, id, secret],
      'a revoked key': [revoked.key, id, secret],
      'a key of another service': [(await makeKey(product.mongodbUri, merchant.org)).key, id, secret],
      "another organisation's key": [stranger.publishableKey, id, secret],
      'no client secret': [good, id, undefined],
      'an empty client secret': [good, id, ''],
      'a client secret that is too long': [good, id, `${secret}x`],
      'the client secret of another authentication': [good, id, other.secret],
      'an unknown authentication': [good, unknown, secret],
      "another organisation's authentication": [good, foreign.id, foreign.secret],
    };
    const refusal = await merchant.check({ id, secret: 'wrong' }, NETWORKS);
    expect(errorOf(refusal)).toEqual(UNPROVEN);
    for (const [what, [key, to, given]] of Object.entries(cases)) {
      const path = `/authentication/${to}/eligibility-check`;
      const posted = await merchant.request(key, 'POST', path, checkOf(given));
      expect([what, seen(posted)]).toEqual([what, seen(refusal)]);
      const asked = await merchant.request(key, 'GET', path, {
        headers: given === undefined ? {} : { 'client-secret': given },
      });
      expect([what, seen(asked)]).toEqual([what, seen(refusal)]);
    }
    const bySecretKey = await merchant.server('POST', `/authentication/${id}/eligibility-check`, checkOf(secret));
    expect([bySecretKey.status, bySecretKey.body]).toEqual([refusal.status, refusal.body]);
    expect((await merchant.server('GET', `/authentication/${id}`)).body.status).toBe('started');
  });

  test("another organisation's authentication does not exist", async () => {
    const { id } = await merchant.start();
    for (const to of [id, 'auth_unknown']) {
      for (const [method, path] of [
        ['GET', `/authentication/${to}`],
        ['POST', `/authentication/${to}/close`],
        ['GET', `/authentication/${to}/eligibility-check`],
      ] as const) {
        const answer = await stranger.server(method, path);
        expect([path, ...errorOf(answer)]).toEqual([path, 404, 'invalid_request_error', 'AUTHENTICATION_NOT_FOUND']);
      }
    }
    expect((await merchant.server('GET', `/authentication/${id}`)).body.status).toBe('started');
  });

  test('a route that is not there is answered in the shape of the service, with the request id', async () => {
    const answer = await merchant.server('PUT', '/authentication/x/y', { headers: { 'X-Request-Id': 'mine-2' } });
    expect(errorOf(answer)).toEqual([404, 'invalid_request_error', 'NOT_FOUND']);
    expect(Object.keys(answer.body.error)).toEqual(['type', 'code', 'message']);
    expect(answer.headers.get('x-request-id')).toBe('mine-2');
  });

  describe('from a browser', () => {
    const origin = { Origin: 'https://shop.example' };
    const preflight = (path: string, method: string) =>
      merchant.request('', 'OPTIONS', path, {
        headers: { ...origin, 'Access-Control-Request-Method': method, 'Access-Control-Request-Headers': 'api-key' },
      });
    const opened = (headers: Headers) => headers.get('access-control-allow-origin');

    test('the check is open: preflight, answer and refusal', async () => {
      const started = await merchant.start();
      const path = `/authentication/${started.id}/eligibility-check`;
      const asked = await preflight(path, 'POST');
      expect([asked.status, opened(asked.headers)]).toEqual([204, '*']);
      expect(asked.headers.get('access-control-allow-methods')).toBe('GET,POST');
      expect(asked.headers.get('access-control-allow-headers')).toBe('api-key,client-secret,Content-Type,X-Request-Id');
      expect(asked.headers.get('access-control-allow-credentials')).toBeNull();
      const answer = await merchant.check(started, NETWORKS, { headers: origin });
      expect([answer.status, opened(answer.headers)]).toEqual([200, '*']);
      expect(answer.headers.get('access-control-expose-headers')).toBe('Retry-After,X-Request-Id');
      const refused = await merchant.check({ ...started, secret: 'wrong' }, NETWORKS, { headers: origin });
      expect([refused.status, opened(refused.headers)]).toEqual([401, '*']);
    });

    test('what a secret key does is not', async () => {
      const { id } = await merchant.start();
      for (const [method, path] of [
        ['POST', '/authentication'],
        ['GET', `/authentication/${id}`],
        ['POST', `/authentication/${id}/close`],
      ] as const) {
        const asked = await preflight(path, method);
        expect([path, asked.status, opened(asked.headers)]).toEqual([path, 401, null]);
        const answer = await merchant.server(method, path, {
          json: { amount: 1, currency: 'EUR' },
          ...(method === 'GET' ? { json: undefined } : {}),
          headers: origin,
        });
        expect([path, answer.status < 300, opened(answer.headers)]).toEqual([path, true, null]);
      }
      const path = `/authentication/${id}/eligibility-check`;
      expect(opened((await merchant.server('GET', path, { headers: origin })).headers)).toBeNull();
    });
  });

  describe('too often', () => {
    const LIMIT = 30;
    const LIMITED = [429, 'rate_limit_error', 'RATE_LIMITED'];

    test('is refused for one authentication and one kind of key, with the time to wait', async () => {
      const [busy, quiet] = [await merchant.start(), await merchant.start()];
      const answers = await Promise.all(
        Array.from({ length: LIMIT }, () => merchant.check({ ...busy, secret: 'wrong' }, NETWORKS)),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(LIMIT).fill(401));
      const refused = await merchant.check(busy, NETWORKS, { headers: { Origin: 'https://shop.example' } });
      expect(errorOf(refused)).toEqual(LIMITED);
      const wait = Number(refused.headers.get('retry-after'));
      expect(wait).toBeGreaterThan(0);
      expect(wait).toBeLessThanOrEqual(60);
      expect(refused.headers.get('access-control-allow-origin')).toBe('*');
      expect(errorOf(await merchant.answerOf(busy))).toEqual(LIMITED);

      expect((await merchant.check(quiet, NETWORKS)).status).toBe(200);
      expect((await merchant.server('GET', `/authentication/${busy.id}`)).status).toBe(200);
      expect((await stranger.check(busy, NETWORKS)).status).toBe(401);
      await withDb(product.mongodbUri, (db) =>
        db
          .collection('authentication_requests')
          .updateMany({ key: new RegExp(`${busy.id}$`) }, { $set: { expire: new Date(Date.now() - 1000) } }),
      );
      expect((await merchant.check(busy, NETWORKS)).status).toBe(200);
    });

    test('tells nothing about whether the authentication exists', async () => {
      const nowhere = { id: `auth_${'1'.repeat(26)}`, secret: 'wrong' };
      for (let sent = 0; sent < LIMIT; sent++) expect((await merchant.check(nowhere, NETWORKS)).status).toBe(401);
      expect(errorOf(await merchant.check(nowhere, NETWORKS))).toEqual(LIMITED);
    });

    test('holds for the merchant too', async () => {
      const { id } = await merchant.start();
      for (let sent = 0; sent < LIMIT; sent++) await merchant.server('GET', `/authentication/${id}`);
      expect(errorOf(await merchant.server('GET', `/authentication/${id}`))).toEqual(LIMITED);
      expect(errorOf(await merchant.server('POST', `/authentication/${id}/close`))).toEqual(LIMITED);
    });
  });
});
