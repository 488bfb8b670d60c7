import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createAuthenticationSchema } from '../../domain/payments/authentications.js';
import { createSealer } from '../../domain/sealing.js';
import { DAY_MS } from '../../domain/webhooks/delivery-policy.js';
import {
  type AuthenticationRecord,
  createAuthentications,
  type EligibilityDataRecord,
} from '../../storage/payments/authentications.js';
import { createOrganisationSecrets } from '../../storage/webhooks/signing-secrets.js';
import { collectionsDuringTests } from '../support/during-tests.js';
import { createMerchant, errorOf, type Merchant } from '../support/payments.js';
import { databaseBeside, makeKey, sharedProduct, withDb } from '../support/product.js';

const PRESENT = { network_a: { consumerPresent: true } };
const ABSENT = { network_a: { consumerPresent: false }, network_b: { consumerPresent: false } };

describe('an authentication', () => {
  const product = sharedProduct();
  const collections = collectionsDuringTests(databaseBeside(product.mongodbUri, 'payments-secrets'));
  let merchant: Merchant;

  beforeAll(async () => {
    merchant = await createMerchant(product, 'payments');
  });

  /** Sets the expiry to the past instead of waiting for it. */
  const expire = (id: string) =>
    withDb(product.mongodbUri, (db) =>
      db
        .collection<AuthenticationRecord>('authentications')
        .updateOne({ _id: id }, { $set: { expires_at: new Date(Date.now() - 60_000) } }),
    );

  test('gets the first signing secret for a key with the scope admin only', async () => {
    const { key } = await makeKey(product.mongodbUri, 'payments-scopes', 'payment_secret', null, ['read', 'write']);
    const others = await createMerchant(product, 'payments-scopes');
    const json = { amount: 100, currency: 'EUR', webhook_url: 'https://shop.example/hooks' };
    const rejected = await others.request(key, 'POST', '/authentication', { json });
    expect([rejected.status, rejected.body.error.code]).toEqual([403, 'FORBIDDEN']);
    expect(JSON.stringify(rejected.body)).not.toContain('whsec_');
    const first = await others.server('POST', '/authentication', { json });
    expect(first.body.webhook_signing_secret).toMatch(/^whsec_/);
    const next = await others.request(key, 'POST', '/authentication', { json });
    expect([next.status, next.body.webhook_signing_secret]).toEqual([201, undefined]);
  });

  test('that are the first of their organisation show the signing secret once, however many arrive together', async () => {
    const first = await createMerchant(product, 'payments-first');
    const json = { amount: 100, currency: 'EUR', webhook_url: 'https://shop.example/hooks' };
    const all = await Promise.all(Array.from({ length: 8 }, () => first.server('POST', '/authentication', { json })));
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 201));
    expect(all.filter(({ body }) => body.webhook_signing_secret !== undefined)).toHaveLength(1);
  });

  test('that is not stored leaves no signing secret that nobody has seen', async () => {
    const org = 'payments-unseen';
    const sealer = createSealer(randomBytes(32).toString('base64'));
    const times = { expiresAfterMs: DAY_MS, keptForMs: DAY_MS, deviceDataKeptForMs: DAY_MS };
    const authentications = createAuthentications(collections, sealer, times);
    const secrets = createOrganisationSecrets(collections, sealer, 'payment');
    const body = createAuthenticationSchema.parse({ amount: 100, currency: 'EUR' });
    const { record } = authentications.prepare(org, body, new Date());
    await authentications.add(record);
    const first = (await secrets.prepareFirst(org))!;
    await expect(authentications.add(record, undefined, first.add)).rejects.toMatchObject({ code: 11000 });
    expect(await secrets.listOpen(org)).toEqual([]);
    const { record: next } = authentications.prepare(org, body, new Date());
    await authentications.add(next, undefined, first.add);
    expect(await secrets.listOpen(org)).toEqual([first.secret]);
  });

  test('is created with a client secret that is returned once, and read by the merchant', async () => {
    const json = {
      amount: 1250,
      currency: 'EUR',
      customer: { id: 'cus_1', email: 'ada@example.com' },
      return_url: 'https://shop.example/return?order=1',
      webhook_url: 'https://shop.example/hooks',
      metadata: { order: 'A-17', items: 2, gift: true },
    };
    const created = await merchant.server('POST', '/authentication', { json });
    expect(created.status).toBe(201);
    expect(created.headers.get('cache-control')).toBe('no-store');
    expect(created.body).toEqual({
      authentication_id: expect.stringMatching(/^auth_[0-9a-z]{26}$/),
      client_secret: expect.any(String),
      // The organisation's first.
      webhook_signing_secret: expect.stringMatching(/^whsec_/),
      status: 'started',
      amount: 1250,
      currency: 'EUR',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      expires_at: expect.any(String),
    });
    const { authentication_id: id, client_secret, created_at, expires_at } = created.body;
    expect(client_secret).toMatch(new RegExp(`^${id}_secret_[\\w-]{43}$`));
    expect(Date.parse(expires_at) - Date.parse(created_at)).toBe(30 * 60 * 1000);
    const read = await merchant.server('GET', `/authentication/${id}`);
    expect(read.status).toBe(200);
    expect(read.body).toEqual({
      authentication_id: id,
      status: 'started',
      ...json,
      eligibility_check: null,
      created_at,
      expires_at,
      closed_at: null,
    });
  });

  test('waits for the merchant when a network reports the consumer as present, and proceeds otherwise', async () => {
    const cases: [object, string][] = [
      [{ network_a: { consumerPresent: true } }, 'await_merchant_callback'],
      [{ network_b: { consumerPresent: true } }, 'await_merchant_callback'],
      [{ network_a: { consumerPresent: false }, network_b: { consumerPresent: true } }, 'await_merchant_callback'],
      [{ network_a: { consumerPresent: true }, network_b: { consumerPresent: false } }, 'await_merchant_callback'],
      [ABSENT, 'proceed'],
      [{ network_a: { consumerStatus: 'unknown' } }, 'proceed'],
      [{ network_b: {} }, 'proceed'],
    ];
    for (const [networks, sdk_next_action] of cases) {
      const started = await merchant.start();
      const response = await merchant.check(started, networks);
      expect([networks, response.status, response.body]).toEqual([
        networks,
        200,
        { authentication_id: started.id, sdk_next_action },
      ]);
      expect((await merchant.getEligibilityResult(started)).body).toEqual(response.body);
      const read = (await merchant.server('GET', `/authentication/${started.id}`)).body;
      expect(read).toMatchObject({
        status: 'eligibility_checked',
        eligibility_check: { sdk_next_action, eligibility_check_data: { click_to_pay: networks } },
      });
    }
  });

  test('returns the same result for the same check in any field order, and rejects another check', async () => {
    const started = await merchant.start();
    const networks = { network_a: { consumerPresent: true, customData: { language: 'de', time_zone: -60 } } };
    const first = await merchant.check(started, { ...networks, network_b: { idLookupSessionId: 's' } });
    const reordered = `  { "eligibility_check_data" : { "click_to_pay": {
      "network_b": { "idLookupSessionId": "s", "unknown": 1 },
      "network_a": { "customData": { "time_zone": -60, "language": "de" }, "consumerPresent": true } } },
      "client_secret": ${JSON.stringify(started.secret)} } `;
    const repeated = await merchant.check(started, null, { json: undefined, body: reordered });
    expect([repeated.status, repeated.body]).toEqual([200, first.body]);
    expect(errorOf(await merchant.check(started, networks))).toEqual([
      409,
      'invalid_request_error',
      'ELIGIBILITY_ALREADY_CHECKED',
    ]);
    expect((await merchant.getEligibilityResult(started)).body).toEqual(first.body);
  });

  test('returns one result for twenty equal checks at once', async () => {
    const started = await merchant.start();
    const responses = await Promise.all(Array.from({ length: 20 }, () => merchant.check(started, PRESENT)));
    expect(responses.map(({ status, body }) => [status, body.sdk_next_action])).toEqual(
      Array(20).fill([200, 'await_merchant_callback']),
    );
  });

  test('accepts one of twenty different checks at once', async () => {
    const started = await merchant.start();
    const networks = Array.from({ length: 20 }, (_, n) => ({
      network_a: { consumerPresent: n % 2 === 0, customData: { screen_width: n } },
    }));
    const responses = await Promise.all(networks.map((network) => merchant.check(started, network)));
    const winner = responses.findIndex(({ status }) => status === 200);
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
    const read = (await merchant.server('GET', `/authentication/${started.id}`)).body;
    expect(read.eligibility_check).toMatchObject({
      sdk_next_action: responses[winner]!.body.sdk_next_action,
      eligibility_check_data: { click_to_pay: networks[winner] },
    });
    expect(responses[winner]!.body.sdk_next_action).toBe(winner % 2 === 0 ? 'await_merchant_callback' : 'proceed');
  });

  test('has no result before it is checked', async () => {
    const started = await merchant.start();
    const none = [404, 'invalid_request_error', 'ELIGIBILITY_CHECK_NOT_FOUND'];
    expect(errorOf(await merchant.getEligibilityResult(started))).toEqual(none);
    expect(errorOf(await merchant.server('GET', `/authentication/${started.id}/eligibility-check`))).toEqual(none);
  });

  test.each(['expired', 'closed'])('denies every check when it is %s, and keeps the first result', async (status) => {
    const [fresh, checked] = [await merchant.start(), await merchant.start()];
    await merchant.check(checked, PRESENT);
    for (const { id } of [fresh, checked]) {
      if (status === 'expired') await expire(id);
      else expect((await merchant.server('POST', `/authentication/${id}/close`)).body.status).toBe('closed');
    }
    for (const [started, found] of [
      [fresh, null],
      [checked, expect.objectContaining({ sdk_next_action: 'await_merchant_callback' })],
    ] as const) {
      const denied = { authentication_id: started.id, sdk_next_action: 'deny' };
      expect((await merchant.check(started, PRESENT)).body).toEqual(denied);
      expect((await merchant.check(started, ABSENT)).body).toEqual(denied);
      expect((await merchant.getEligibilityResult(started)).body).toEqual(denied);
      const read = (await merchant.server('GET', `/authentication/${started.id}`)).body;
      expect([read.status, read.eligibility_check]).toEqual([status, found]);
    }
    expect(
      await withDb(product.mongodbUri, (db) =>
        db.collection<EligibilityDataRecord>('eligibility_data').findOne({ _id: fresh.id }),
      ),
    ).toBe(null);
  });

  test('is closed once: closing it again changes nothing, and an expired authentication stays expired', async () => {
    const [closed, expired] = [await merchant.start(), await merchant.start()];
    const first = await merchant.server('POST', `/authentication/${closed.id}/close`);
    expect(first).toMatchObject({ status: 200, body: { status: 'closed', closed_at: expect.any(String) } });
    expect((await merchant.server('POST', `/authentication/${closed.id}/close`)).body).toEqual(first.body);
    await expire(closed.id);
    expect((await merchant.server('GET', `/authentication/${closed.id}`)).body.status).toBe('closed');
    await expire(expired.id);
    expect(await merchant.server('POST', `/authentication/${expired.id}/close`)).toMatchObject({
      status: 200,
      body: { status: 'expired', closed_at: null },
    });
  });

  test('is listed newest first by its state at that time, page by page', async () => {
    const lister = await createMerchant(product, 'listed-payments');
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift((await lister.start()).id);
    const [newest, closed, expired, checkedAndExpired] = ids as [string, string, string, string];
    await lister.server('POST', `/authentication/${closed}/close`);
    for (const id of [expired, checkedAndExpired]) await expire(id);
    const list = async (query = '') => (await lister.server('GET', `/authentication${query}`)).body;
    const idsOf = ({ authentications }: { authentications: { authentication_id: string }[] }) =>
      authentications.map(({ authentication_id }) => authentication_id);
    const all = await list();
    expect([idsOf(all), all.count, all.next_cursor]).toEqual([ids, 5, null]);
    expect(all.authentications[1]).toEqual({
      authentication_id: closed,
      status: 'closed',
      amount: 1250,
      currency: 'EUR',
      sdk_next_action: null,
      created_at: expect.any(String),
      expires_at: expect.any(String),
      closed_at: expect.any(String),
    });
    const first = await list('?limit=3');
    expect(idsOf(first)).toEqual(ids.slice(0, 3));
    expect(idsOf(await list(`?limit=3&cursor=${first.next_cursor}`))).toEqual(ids.slice(3));
    // The timers have not fired, but the time has passed.
    expect(idsOf(await list('?status=expired'))).toEqual([expired, checkedAndExpired]);
    expect(idsOf(await list('?status=started'))).toEqual([newest, ids[4]]);
    expect(idsOf(await list('?status=closed'))).toEqual([closed]);
    expect((await list('?status=eligibility_checked')).count).toBe(0);
    expect(errorOf(await lister.server('GET', '/authentication?cursor=dlv_1'))[0]).toBe(400);
    expect(errorOf(await lister.browser('GET', '/authentication'))[0]).toBe(403);
    expect((await merchant.server('GET', '/authentication?limit=100')).body.authentications).not.toContainEqual(
      expect.objectContaining({ authentication_id: newest }),
    );
  });

  test('shows its merchant why the check was decided as it was, also when the data are gone', async () => {
    const started = await merchant.start();
    await merchant.check(started, {
      network_a: { consumerPresent: true, consumerStatus: 'recognised' },
      network_b: { idLookupSessionId: 's' },
    });
    const reasons = [
      { network: 'network_a', signal: 'consumer_present', effect: 'await_merchant_callback' },
      { network: 'network_a', signal: 'consumer_status_given', effect: 'none' },
      { network: 'network_a', signal: 'device_unknown', effect: 'none' },
      { network: 'network_b', signal: 'presence_unknown', effect: 'proceed' },
      { network: 'network_b', signal: 'consumer_looked_up', effect: 'none' },
      { network: 'network_b', signal: 'known_but_not_present', effect: 'none' },
    ];
    const read = async () => (await merchant.server('GET', `/authentication/${started.id}`)).body.eligibility_check;
    expect(await read()).toMatchObject({ sdk_next_action: 'await_merchant_callback', reasons });
    await withDb(product.mongodbUri, (db) =>
      db.collection<EligibilityDataRecord>('eligibility_data').deleteOne({ _id: started.id }),
    );
    expect(await read()).toMatchObject({ reasons, eligibility_check_data: null });
    const stored = await withDb(product.mongodbUri, (db) =>
      db.collection<AuthenticationRecord>('authentications').findOne({ _id: started.id }),
    );
    expect(JSON.stringify(stored)).not.toContain('consumer_present');
  });

  test('has a consistent state after a check and a close at the same time', async () => {
    const started = await merchant.start();
    const [checked] = await Promise.all([
      merchant.check(started, PRESENT),
      merchant.server('POST', `/authentication/${started.id}/close`),
    ]);
    const { status, eligibility_check } = (await merchant.server('GET', `/authentication/${started.id}`)).body;
    expect(status).toBe('closed');
    expect(checked.body.sdk_next_action).toBe(eligibility_check === null ? 'deny' : 'await_merchant_callback');
  });
});
