import { beforeAll, describe, expect, test } from '@jest/globals';
import type { AuthenticationRecord, EligibilityDataRecord } from '../../storage/payments/authentications.js';
import { createMerchant, errorOf, type Merchant } from '../support/payments.js';
import { sharedProduct, withDb } from '../support/product.js';

const PRESENT = { network_a: { consumerPresent: true } };
const ABSENT = { network_a: { consumerPresent: false }, network_b: { consumerPresent: false } };

describe('an authentication', () => {
  const product = sharedProduct();
  let merchant: Merchant;

  beforeAll(async () => {
    merchant = await createMerchant(product, 'payments');
  });

  /** As the passing of time would do it; no test waits for that. */
  const expire = (id: string) =>
    withDb(product.mongodbUri, (db) =>
      db
        .collection<AuthenticationRecord>('authentications')
        .updateOne({ _id: id }, { $set: { expires_at: new Date(Date.now() - 1000) } }),
    );

  test('is created with a client secret that is shown once, and read by the merchant', async () => {
    const json = {
      amount: 1250,
      currency: 'EUR',
      customer: { id: 'cus_1', email: 'ada@example.com' },
      return_url: 'https://shop.example/return?order=1',
      metadata: { order: 'A-17', items: 2, gift: true },
    };
    const created = await merchant.server('POST', '/authentication', { json });
    expect(created.status).toBe(201);
    expect(created.headers.get('cache-control')).toBe('no-store');
    expect(created.body).toEqual({
      authentication_id: expect.stringMatching(/^auth_[0-9a-z]{26}$/),
      client_secret: expect.any(String),
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

  test('waits for the merchant when one network says the consumer is present, and goes on when none does', async () => {
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
      const answer = await merchant.check(started, networks);
      expect([networks, answer.status, answer.body]).toEqual([
        networks,
        200,
        { authentication_id: started.id, sdk_next_action },
      ]);
      expect((await merchant.answerOf(started)).body).toEqual(answer.body);
      const read = (await merchant.server('GET', `/authentication/${started.id}`)).body;
      expect(read).toMatchObject({
        status: 'eligibility_checked',
        eligibility_check: { sdk_next_action, eligibility_check_data: { click_to_pay: networks } },
      });
    }
  });

  test('gives the same answer to the same check, whatever the order of its fields, and refuses another', async () => {
    const started = await merchant.start();
    const networks = { network_a: { consumerPresent: true, customData: { language: 'de', time_zone: -60 } } };
    const first = await merchant.check(started, { ...networks, network_b: { idLookupSessionId: 's' } });
    const reordered = `  { "eligibility_check_data" : { "click_to_pay": {
      "network_b": { "idLookupSessionId": "s" }, "network_c": { "unknown": 1 },
      "network_a": { "customData": { "time_zone": -60, "language": "de" }, "consumerPresent": true } } },
      "client_secret": ${JSON.stringify(started.secret)} } `;
    const repeated = await merchant.check(started, null, { json: undefined, body: reordered });
    expect([repeated.status, repeated.body]).toEqual([200, first.body]);
    expect(errorOf(await merchant.check(started, networks))).toEqual([
      409,
      'invalid_request_error',
      'ELIGIBILITY_ALREADY_CHECKED',
    ]);
    expect((await merchant.answerOf(started)).body).toEqual(first.body);
  });

  test('gives one answer to twenty equal checks at once', async () => {
    const started = await merchant.start();
    const answers = await Promise.all(Array.from({ length: 20 }, () => merchant.check(started, PRESENT)));
    expect(answers.map(({ status, body }) => [status, body.sdk_next_action])).toEqual(
      Array(20).fill([200, 'await_merchant_callback']),
    );
  });

  test('lets one of twenty differing checks at once win', async () => {
    const started = await merchant.start();
    const networks = Array.from({ length: 20 }, (_, n) => ({
      network_a: { consumerPresent: n % 2 === 0, customData: { screen_width: n } },
    }));
    const answers = await Promise.all(networks.map((one) => merchant.check(started, one)));
    const winner = answers.findIndex(({ status }) => status === 200);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
    const read = (await merchant.server('GET', `/authentication/${started.id}`)).body;
    expect(read.eligibility_check).toMatchObject({
      sdk_next_action: answers[winner]!.body.sdk_next_action,
      eligibility_check_data: { click_to_pay: networks[winner] },
    });
    expect(answers[winner]!.body.sdk_next_action).toBe(winner % 2 === 0 ? 'await_merchant_callback' : 'proceed');
  });

  test('has no answer before it is checked', async () => {
    const started = await merchant.start();
    const none = [404, 'invalid_request_error', 'ELIGIBILITY_CHECK_NOT_FOUND'];
    expect(errorOf(await merchant.answerOf(started))).toEqual(none);
    expect(errorOf(await merchant.server('GET', `/authentication/${started.id}/eligibility-check`))).toEqual(none);
  });

  test.each(['expired', 'closed'])('denies every check once it is %s, and keeps what was found', async (status) => {
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
      expect((await merchant.answerOf(started)).body).toEqual(denied);
      const read = (await merchant.server('GET', `/authentication/${started.id}`)).body;
      expect([read.status, read.eligibility_check]).toEqual([status, found]);
    }
    expect(
      await withDb(product.mongodbUri, (db) =>
        db.collection<EligibilityDataRecord>('eligibility_data').findOne({ _id: fresh.id }),
      ),
    ).toBe(null);
  });

  test('is closed once: closing again changes nothing, and what has expired stays expired', async () => {
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

  test('a check and a close at once agree on what happened', async () => {
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
