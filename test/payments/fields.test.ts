import { beforeAll, describe, expect, test } from '@jest/globals';
import { createMerchant, errorOf, type Merchant } from '../support/payments.js';
import { sharedProduct } from '../support/product.js';

const MISSING = [400, 'invalid_request_error', 'INVALID_PARAMETERS'];
const INVALID = [422, 'invalid_request_error', 'VALIDATION_ERROR'];

/** The fields of both networks with their types in the specification. */
const FIELDS = {
  'network_a.consumerPresent': 'boolean',
  'network_a.consumerStatus': 'string',
  'network_a.customData': 'object',
  'network_a.customData.color_depth': 'integer',
  'network_a.customData.java_enabled': 'boolean',
  'network_a.customData.java_script_enabled': 'boolean',
  'network_a.customData.language': 'string',
  'network_a.customData.screen_height': 'integer',
  'network_a.customData.screen_width': 'integer',
  'network_a.customData.time_zone': 'integer',
  'network_a.customData.ip_address': 'string',
  'network_a.customData.accept_header': 'string',
  'network_a.customData.user_agent': 'string',
  'network_a.customData.os_type': 'string',
  'network_a.customData.os_version': 'string',
  'network_a.customData.device_model': 'string',
  'network_a.customData.accept_language': 'string',
  'network_a.customData.referer': 'string',
  'network_b.consumerPresent': 'boolean',
  'network_b.idLookupSessionId': 'string',
  'network_b.lastUsedCardTimestamp': 'string',
} as const;

const VALID = { boolean: [true, false], string: ['', 'text'], integer: [0, 24, -60], object: [{}] };
const IN_WORDS = { boolean: 'a boolean', string: 'a string', integer: 'an integer', object: 'an object' };
const INVALID_VALUES = {
  boolean: ['true', 1, {}],
  string: [1, true, [], 'x'.repeat(2049)],
  integer: ['24', 24.5, true, 2 ** 53],
  object: ['text', 1, []],
};

/** `{network_a: {customData: {language: value}}}` from a path and a value. */
function nested(path: string, value: unknown): Record<string, unknown> {
  return path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>;
}

describe('the fields of a payment authentication', () => {
  let merchant: Merchant;

  beforeAll(async () => {
    merchant = await createMerchant(sharedProduct(), 'payment-fields');
  });

  test.each(Object.entries(FIELDS))('%s must have the type %s', async (path, type) => {
    const started = await merchant.start();
    for (const value of INVALID_VALUES[type]) {
      const rejected = await merchant.check(started, nested(path, value));
      expect([value, ...errorOf(rejected)]).toEqual([value, ...INVALID]);
      expect(rejected.body.error.message).toMatch(`eligibility_check_data.click_to_pay.${path}: `);
      if (value === 24.5) expect(rejected.body.error.message).toMatch(`must be ${IN_WORDS[type]}`);
    }
    for (const value of VALID[type]) {
      const fresh = await merchant.start();
      const accepted = await merchant.check(fresh, nested(path, value));
      expect([value, accepted.status]).toEqual([value, 200]);
      const read = (await merchant.server('GET', `/authentication/${fresh.id}`)).body;
      expect(read.eligibility_check.eligibility_check_data.click_to_pay).toEqual(nested(path, value));
    }
  });

  test('`null` is a field that is not given', async () => {
    const started = await merchant.start();
    const given = { consumerPresent: null, consumerStatus: 'known', customData: null };
    expect((await merchant.check(started, { network_a: given, network_b: null })).status).toBe(200);
    const read = (await merchant.server('GET', `/authentication/${started.id}`)).body;
    const stored = { click_to_pay: { network_a: { consumerStatus: 'known' } } };
    expect(read.eligibility_check.eligibility_check_data).toEqual(stored);
  });

  test('what a network writes may have other fields, which are not stored', async () => {
    const started = await merchant.start();
    const accepted = await merchant.browser('POST', `/authentication/${started.id}/eligibility-check`, {
      json: {
        client_secret: started.secret,
        eligibility_check_data: { click_to_pay: { network_a: { more: 1, customData: { even_more: null } } } },
      },
    });
    expect(accepted.status).toBe(200);
    const read = (await merchant.server('GET', `/authentication/${started.id}`)).body;
    expect(read.eligibility_check.eligibility_check_data).toEqual({ click_to_pay: { network_a: { customData: {} } } });
  });

  test('a check requires data of at least one network', async () => {
    const { id, secret: client_secret } = await merchant.start();
    const cases: [unknown, unknown][] = [
      [{ client_secret }, MISSING],
      [{ client_secret, eligibility_check_data: {} }, MISSING],
      [{ client_secret, eligibility_check_data: null }, INVALID],
      [{ client_secret, eligibility_check_data: { click_to_pay: {} } }, INVALID],
      [{ client_secret, eligibility_check_data: { click_to_pay: { network_c: {} } } }, INVALID],
      [{ client_secret, eligibility_check_data: { click_to_pay: [] } }, INVALID],
      [{ client_secret: 5, eligibility_check_data: { click_to_pay: { network_a: {} } } }, INVALID],
      [[], INVALID],
      ['text', INVALID],
    ];
    for (const [json, error] of cases) {
      const rejected = await merchant.browser('POST', `/authentication/${id}/eligibility-check`, { json });
      expect([json, errorOf(rejected)]).toEqual([json, error]);
    }
    const path = `/authentication/${id}/eligibility-check`;
    expect(errorOf(await merchant.browser('POST', path))).toEqual(MISSING);
    expect(errorOf(await merchant.browser('POST', path, { body: '{"client_secret":' }))).toEqual(MISSING);
    expect(errorOf(await merchant.browser('POST', path, { json: { padding: 'x'.repeat(65 * 1024) } }))).toEqual([
      413,
      'invalid_request_error',
      'PAYLOAD_TOO_LARGE',
    ]);
  });

  test.each<[string, object, unknown]>([
    ['no amount', { amount: undefined }, MISSING],
    ['a text amount', { amount: '1250' }, INVALID],
    ['a fraction of a minor unit', { amount: 12.5 }, INVALID],
    ['a negative amount', { amount: -1 }, INVALID],
    ['no currency', { currency: undefined }, MISSING],
    ['a currency that does not exist', { currency: 'EUX' }, INVALID],
    ['a lower-case currency', { currency: 'eur' }, INVALID],
    ['a text customer', { customer: 'Ada' }, INVALID],
    ['a customer with an invalid address', { customer: { email: 'ada' } }, INVALID],
    ['an http return URL', { return_url: 'http://shop.example/' }, INVALID],
    ['a return URL with credentials', { return_url: 'https://ada:pw@shop.example/' }, INVALID],
    ['an invalid return URL', { return_url: 'shop' }, INVALID],
    ['metadata of objects', { metadata: { order: {} } }, INVALID],
    ['too much metadata', { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [n, n])) }, INVALID],
  ])('an authentication is rejected with %s', async (_, fields, error) => {
    const json = { amount: 1250, currency: 'EUR', ...fields };
    const rejected = await merchant.server('POST', '/authentication', { json });
    expect(errorOf(rejected)).toEqual(error);
    expect(rejected.body.error.message).toContain(Object.keys(fields)[0]);
  });

  test('an error for metadata names the reason', async () => {
    for (const [metadata, reason] of [
      [{ order: {} }, 'metadata.order: must be a string or a number or a boolean'],
      [{ ['k'.repeat(41)]: 'v' }, 'is not a valid field name (must not exceed 40 characters)'],
    ] as const) {
      const rejected = await merchant.server('POST', '/authentication', {
        json: { amount: 1, currency: 'EUR', metadata },
      });
      expect(rejected.body.error.message).toContain(reason);
    }
  });

  test('amounts may be zero, yen have no minor unit, and a field that is not known is named', async () => {
    for (const json of [
      { amount: 0, currency: 'USD' },
      { amount: 500, currency: 'JPY', customer: { id: 'ada', email: null } },
    ]) {
      const created = await merchant.server('POST', '/authentication', { json });
      expect([created.status, created.body.amount, created.body.currency]).toEqual([201, json.amount, json.currency]);
    }
    const misspelled = await merchant.server('POST', '/authentication', {
      json: { amount: 1, currency: 'EUR', meta: {} },
    });
    expect(errorOf(misspelled)).toEqual(INVALID);
    expect(misspelled.body.error.message).toBe('meta: is not known; did you mean "metadata"?');
  });
});
