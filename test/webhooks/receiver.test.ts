import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import type { webhooks } from '../../client/schema.js';
import { CREW_EVENTS } from '../../domain/webhooks/events.js';
import { webhookHeaders } from '../../domain/webhooks/headers.js';
import {
  type AuthenticationCallback,
  type CrewCallback,
  type CrewCompleted,
  type CrewFailed,
  type CrewStepCallback,
  type CrewTaskCallback,
  type IndexingEvent,
  type JobCallback,
  verifyAuthenticationCallback,
  verifyCallback,
  verifyCrewCallback,
  verifyIndexingWebhook,
  verifyJobCallback,
  WebhookVerificationError,
} from '../../receiver/index.js';

interface Payloads {
  'indexing.status_changed': IndexingEvent;
  async_job_completed: JobCallback;
  task_completed: CrewTaskCallback;
  task_pending_human_input: CrewTaskCallback;
  step: CrewStepCallback;
  crew_completed: CrewCompleted;
  crew_failed: CrewFailed;
  'authentication.ended': AuthenticationCallback;
}
type FieldOf<Payload> = Payload extends unknown ? keyof Payload : never;
type Documented<Event extends keyof webhooks> = webhooks[Event]['post']['requestBody']['content']['application/json'];
/** Fields of callbacks in the API document that the types of the library do not have. */
type Missing = {
  [Event in keyof Payloads]: Exclude<FieldOf<Documented<Event>>, FieldOf<Payloads[Event]>>;
}[keyof Payloads];
const missing: Missing[] = [];
// The compiler tests that there are none.
missing satisfies never[];

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const OTHER_SECRET = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
const event = {
  event: 'indexing.status_changed',
  delivery_id: 'dlv_1',
  id: 'doc ü',
  database: 'handbook',
  status: 'completed',
};
const body = Buffer.from(JSON.stringify(event));
const hmac = (bytes: string | Buffer, secret = SECRET) =>
  `sha256=${createHmac('sha256', secret).update(bytes).digest('hex')}`;

/** Headers of an attempt `age` seconds ago, signed by the published library. */
function signedNow(bytes: string | Buffer, library = new Webhook(SECRET), age = 0): Record<string, string> {
  const at = new Date(Date.now() - age * 1000);
  return {
    'webhook-id': 'dlv_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': library.sign('dlv_1', at, bytes),
  };
}

function failureOf(verification: () => unknown): string {
  try {
    verification();
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.code;
    throw error;
  }
  return 'verified';
}

describe('an indexing webhook', () => {
  const signed = signedNow(body);

  test('verifies from bytes or text, and returns the event', () => {
    for (const rawBody of [body, new Uint8Array(body), body.toString()]) {
      expect(verifyIndexingWebhook(rawBody, signed, SECRET)).toEqual(event);
    }
    const within = new Uint8Array(Buffer.concat([Buffer.from('..'), body])).subarray(2);
    expect(verifyIndexingWebhook(within, signed, SECRET)).toEqual(event);
  });

  const lists = Object.fromEntries(Object.entries(signed).map(([name, value]) => [name, [value]]));
  const upperCase = Object.fromEntries(Object.entries(signed).map(([name, value]) => [name.toUpperCase(), value]));
  test.each([
    ["Node's headers", signed],
    ['a plain object in any case', upperCase],
    ['one value in a list', lists],
    ['fetch Headers', new Headers(signed)],
    ['a map', new Map(Object.entries(signed)) as unknown as Headers],
  ])('reads %s', (_what, headers) => {
    expect(verifyIndexingWebhook(body, headers, SECRET).delivery_id).toBe('dlv_1');
  });

  test('accepts the old and the new secret during a rotation', () => {
    expect(failureOf(() => verifyIndexingWebhook(body, signed, [OTHER_SECRET, SECRET]))).toBe('verified');
    expect(failureOf(() => verifyIndexingWebhook(body, signed, [SECRET, undefined]))).toBe('verified');
    expect(failureOf(() => verifyIndexingWebhook(body, signed, [OTHER_SECRET]))).toBe('bad_signature');
    const at = new Date(Number(signed['webhook-timestamp']) * 1000);
    const another = new Webhook(OTHER_SECRET).sign('dlv_1', at, body);
    const both = { ...signed, 'webhook-signature': `${another} v1a,AAAA ${signed['webhook-signature']}` };
    expect(failureOf(() => verifyIndexingWebhook(body, both, SECRET))).toBe('verified');
    expect(failureOf(() => verifyIndexingWebhook(body, both, OTHER_SECRET))).toBe('verified');
  });

  test('is trusted for 5 minutes, or for as long as the receiver says', () => {
    const failure = (age: number, toleranceSeconds?: number) =>
      failureOf(() => verifyIndexingWebhook(body, signedNow(body, undefined, age), SECRET, { toleranceSeconds }));
    expect([failure(290), failure(310), failure(-290), failure(-310)]).toEqual([
      'verified',
      'bad_timestamp',
      'verified',
      'bad_timestamp',
    ]);
    expect([failure(310, 600), failure(90, 60), failure(1e6, Infinity)]).toEqual([
      'verified',
      'bad_timestamp',
      'verified',
    ]);
    expect(failure(0, Number.NaN)).toBe('bad_timestamp');
  });

  test('the signature of the specification verifies only where the age does not matter', () => {
    const unlimited = { toleranceSeconds: Infinity };
    const plain = { 'X-Service-Signature': hmac(body) };
    expect(failureOf(() => verifyIndexingWebhook(body, plain, SECRET))).toBe('missing_signature');
    expect(failureOf(() => verifyIndexingWebhook(body, plain, SECRET, { toleranceSeconds: 1e9 }))).toBe(
      'missing_signature',
    );
    expect(failureOf(() => verifyIndexingWebhook(body, plain, [OTHER_SECRET, SECRET], unlimited))).toBe('verified');
    for (const forged of [hmac(body).slice(7), hmac(body).toUpperCase(), `${hmac(body)} `, hmac(body, '')]) {
      const headers = { 'x-service-signature': forged };
      expect(failureOf(() => verifyIndexingWebhook(body, headers, SECRET, unlimited))).toBe('bad_signature');
    }
    // It does not rescue a request whose other signature is wrong.
    const mixed = { ...plain, ...signedNow(body, new Webhook(OTHER_SECRET)) };
    expect(failureOf(() => verifyIndexingWebhook(body, mixed, SECRET, unlimited))).toBe('bad_signature');
  });

  test.each([
    ['base64 without a prefix', 'c2l4dGVlbiBvciBtb3Jl', undefined],
    ['base64 without padding', 'c2l4dGVlbiBvciBtb3JlIQ', undefined],
    ['text', 'sixteen or more characters', { format: 'raw' } as const],
    ['base64url', 'whsec_AAAA-AAAA_AAAA', { format: 'raw' } as const],
    ['a length that base64 never has', 'abcdefghijklmnopq', { format: 'raw' } as const],
  ])('a chosen secret of %s is the key that the published library reads', (_what, secret, format) => {
    const headers = signedNow(body, new Webhook(secret, format));
    expect(failureOf(() => verifyIndexingWebhook(body, headers, secret))).toBe('verified');
    const sent = webhookHeaders(event, body, [secret], new Date());
    expect(new Webhook(secret, format).verify(body, sent)).toEqual(event);
  });

  const { 'webhook-signature': signature = '' } = signed;
  test.each([
    ['no signature', { 'webhook-signature': undefined }, 'missing_signature'],
    ['an empty signature', { 'webhook-signature': '' }, 'missing_signature'],
    ['two signatures', { 'webhook-signature': [signature, signature] }, 'missing_signature'],
    ['the digest without its version', { 'webhook-signature': signature.slice(3) }, 'bad_signature'],
    ['another version', { 'webhook-signature': `v2,${signature.slice(3)}` }, 'bad_signature'],
    ['a truncated digest', { 'webhook-signature': signature.slice(0, -1) }, 'bad_signature'],
    ['non-ASCII characters', { 'webhook-signature': 'v1,ééé' }, 'bad_signature'],
    ['another id', { 'webhook-id': 'dlv_2' }, 'bad_signature'],
    ['no id', { 'webhook-id': undefined }, 'bad_signature'],
    ['another time', { 'webhook-timestamp': '1' }, 'bad_signature'],
    ['no time', { 'webhook-timestamp': undefined }, 'bad_signature'],
  ])('with %s is not trusted', (_what, headers, code) => {
    expect(failureOf(() => verifyIndexingWebhook(body, { ...signed, ...headers }, SECRET))).toBe(code);
  });

  test('a body with other bytes but the same meaning does not verify', () => {
    const reserialised = JSON.stringify(event, null, 2);
    expect(failureOf(() => verifyIndexingWebhook(reserialised, signed, SECRET))).toBe('bad_signature');
    expect(failureOf(() => verifyIndexingWebhook(`${body} `, signed, SECRET))).toBe('bad_signature');
  });

  test.each([[undefined], [''], [[]], [[undefined, '']]])('without a secret (%j) nothing is trusted', (secret) => {
    expect(failureOf(() => verifyIndexingWebhook(body, signed, secret))).toBe('missing_secret');
  });

  test('a parsed body is reported as malformed, not as a wrong signature', () => {
    expect(failureOf(() => verifyIndexingWebhook(event as unknown as string, signed, SECRET))).toBe('malformed_body');
  });

  test.each([
    '',
    'not json',
    'null',
    '[]',
    '"text"',
    '{"event":"other","delivery_id":"d"}',
    '{"event":"indexing.status_changed"}',
  ])('a signed body that is not an event (%s) is malformed', (text) => {
    const unlimited = { toleranceSeconds: Infinity };
    const headers = { 'x-service-signature': hmac(text) };
    expect(failureOf(() => verifyIndexingWebhook(text, headers, SECRET, unlimited))).toBe('malformed_body');
  });

  test('signed bytes that are not UTF-8 are malformed', () => {
    const bytes = Buffer.from([0x22, 0xff, 0x22]);
    const unlimited = { toleranceSeconds: Infinity };
    const headers = { 'x-service-signature': hmac(bytes) };
    expect(failureOf(() => verifyIndexingWebhook(bytes, headers, SECRET, unlimited))).toBe('malformed_body');
  });
});

describe('a crew callback', () => {
  const callback = {
    event: 'task_completed',
    execution_id: '0b1d',
    sequence: 3,
    task_id: 'draft_reply',
    agent: 'reply_writer',
    output: 'Grüße',
    meta: null,
    timestamp: '2026-01-15T09:30:00.000Z',
  };
  const text = JSON.stringify(callback, null, 2);
  const verified = (value: object, secret = SECRET) => {
    const raw = JSON.stringify(value);
    return verifyCrewCallback(raw, signedNow(raw), secret);
  };

  test('verifies with the secret for crews and returns the callback', () => {
    const signed = signedNow(text);
    expect(verifyCrewCallback(text, signed, SECRET)).toEqual(callback);
    expect(verifyCrewCallback(Buffer.from(text), new Headers(signed), [OTHER_SECRET, SECRET])).toEqual(callback);
    expect(failureOf(() => verifyCrewCallback(text, signed, OTHER_SECRET))).toBe('bad_signature');
    expect(failureOf(() => verifyCrewCallback(text, signedNow(text, undefined, 400), SECRET))).toBe('bad_timestamp');
    expect(failureOf(() => verifyCrewCallback(`${text}\n`, signed, SECRET))).toBe('bad_signature');
    expect(failureOf(() => verifyCrewCallback(text, signed, undefined))).toBe('missing_secret');
  });

  test('a callback without a signature is not trusted: the organisation has no secret', () => {
    const unsigned = { 'X-Service-Delivery-ID': 'dlv_1', 'X-Service-Event': 'task_completed' };
    expect(failureOf(() => verifyCrewCallback(text, unsigned, SECRET))).toBe('missing_signature');
  });

  test.each(CREW_EVENTS)('%s is accepted as an event', (name) => {
    expect(verified({ ...callback, event: name })).toMatchObject({ event: name });
  });

  test('an indexing webhook is not accepted as a crew callback, nor a crew callback as an indexing webhook', () => {
    expect(failureOf(() => verified(event))).toBe('malformed_body');
    expect(failureOf(() => verified({ ...callback, execution_id: undefined }))).toBe('malformed_body');
    expect(failureOf(() => verifyIndexingWebhook(text, signedNow(text), SECRET))).toBe('malformed_body');
  });

  test('the event determines the type of the payload', () => {
    const textOf = (callback: CrewCallback): string => {
      switch (callback.event) {
        case 'step':
          return callback.output.type === 'action' ? callback.output.tool : callback.output.text;
        case 'crew_failed':
          return callback.error;
        case 'crew_completed':
          return callback.output;
        default:
          return `${callback.task_id}: ${callback.output}`;
      }
    };
    const action = { type: 'action', tool: 'fetch_page', input: {}, ok: true, result: '' };
    expect(textOf(verified({ ...callback, event: 'step', output: action }))).toBe('fetch_page');
    expect(textOf(verified(callback))).toBe('draft_reply: Grüße');
  });
});

test('an authentication callback verifies with the secret of the payments, as itself and as any callback', () => {
  const ended = { event: 'authentication.ended', authentication_id: 'aut_1', timestamp: '2026-11-22T10:00:00.000Z' };
  const bytes = Buffer.from(JSON.stringify(ended));
  const headers = signedNow(bytes);
  expect(verifyAuthenticationCallback(bytes, headers, SECRET)).toEqual(ended);
  expect(verifyCallback(bytes, headers, { secret: [OTHER_SECRET, SECRET] })).toEqual(ended);
  expect(failureOf(() => verifyAuthenticationCallback(body, signedNow(body), SECRET))).toBe('malformed_body');
  expect(failureOf(() => verifyCallback(bytes, headers, { secret: OTHER_SECRET }))).toBe('bad_signature');
  expect(
    failureOf(() => verifyCallback(bytes, { ...headers, 'X-Service-Hash-Algorithm': 'SHA256' }, { secret: SECRET })),
  ).toBe('missing_secret');
});

describe('an AI job callback', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const otherPem = generateKeyPairSync('rsa', { modulusLength: 2048 })
    .publicKey.export({ type: 'spki', format: 'pem' })
    .toString();
  const callback = { event: 'async_job_completed', job_id: '9f0c', output: { text: 'ü' }, status: 'success' };
  const canonical = Buffer.from(JSON.stringify(callback, null, 2));
  const rsa = (bytes: Buffer) =>
    sign('sha256', Buffer.from(createHash('sha256').update(bytes).digest('hex')), privateKey).toString('hex');
  const signed = {
    'X-Service-Signature': rsa(canonical),
    'X-Service-Hash-Algorithm': 'SHA256',
    'X-Service-Webhook': 'true',
  };

  test('verifies over the raw body and returns the callback', () => {
    expect(verifyJobCallback(canonical, signed, pem)).toEqual(callback);
    expect(verifyJobCallback(canonical.toString(), new Headers(signed), [otherPem, pem])).toEqual(callback);
    // The service lists several keys during a rotation.
    expect(verifyJobCallback(canonical, signed, `${otherPem}\n${pem}`)).toEqual(callback);
    const pkcs1 = publicKey.export({ type: 'pkcs1', format: 'pem' }).toString();
    expect(verifyJobCallback(canonical, { 'x-service-signature': rsa(canonical) }, pkcs1)).toEqual(callback);
  });

  test.each([
    ['no header', {}, 'missing_signature'],
    ['a signature that is not hex', { 'x-service-signature': 'sha256=zz' }, 'bad_signature'],
    ['a signature of one byte', { 'x-service-signature': '00' }, 'bad_signature'],
    [
      'a signature over the body instead of its digest',
      { 'x-service-signature': sign('sha256', canonical, privateKey).toString('hex') },
      'bad_signature',
    ],
    ['another algorithm', { ...signed, 'X-Service-Hash-Algorithm': 'MD5' }, 'bad_signature'],
  ])('with %s is not trusted', (_what, headers, code) => {
    expect(failureOf(() => verifyJobCallback(canonical, headers, pem))).toBe(code);
  });

  test('with another key or other bytes is not trusted', () => {
    expect(failureOf(() => verifyJobCallback(canonical, signed, otherPem))).toBe('bad_signature');
    expect(failureOf(() => verifyJobCallback(JSON.stringify(callback), signed, pem))).toBe('bad_signature');
  });

  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .publicKey.export({ type: 'spki', format: 'pem' })
    .toString();
  test.each([[undefined], [''], ['no pem'], [ec]])('without an RSA public key nothing is trusted', (key) => {
    expect(failureOf(() => verifyJobCallback(canonical, signed, key))).toBe('missing_secret');
  });

  test('a signed body that is not a callback is malformed', () => {
    const other = Buffer.from(JSON.stringify(event));
    expect(failureOf(() => verifyJobCallback(other, { 'x-service-signature': rsa(other) }, pem))).toBe(
      'malformed_body',
    );
  });
});
