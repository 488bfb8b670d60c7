import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { CREW_EVENTS } from '../../domain/webhooks/events.js';
import {
  type CrewCallback,
  verifyCrewCallback,
  verifyIndexingWebhook,
  verifyJobCallback,
  WebhookVerificationError,
} from '../../receiver/index.js';

const SECRET = 'whsec_a-secret-of-the-receiver';
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
  const signed = { 'X-Service-Signature': hmac(body) };

  test('verifies from bytes or text, and returns the event', () => {
    for (const rawBody of [body, new Uint8Array(body), body.toString()]) {
      expect(verifyIndexingWebhook(rawBody, signed, SECRET)).toEqual(event);
    }
    const within = new Uint8Array(Buffer.concat([Buffer.from('..'), body])).subarray(2);
    expect(verifyIndexingWebhook(within, signed, SECRET)).toEqual(event);
  });

  test.each([
    ["Node's headers", { 'x-service-signature': hmac(body) }],
    ['a plain object in any case', { 'X-SERVICE-SIGNATURE': hmac(body) }],
    ['one value in a list', { 'x-service-signature': [hmac(body)] }],
    ['fetch Headers', new Headers({ 'X-Service-Signature': hmac(body) })],
    ['a map', new Map([['x-service-signature', hmac(body)]]) as unknown as Headers],
  ])('reads %s', (_what, headers) => {
    expect(verifyIndexingWebhook(body, headers, SECRET).delivery_id).toBe('dlv_1');
  });

  test('accepts the old and the new secret during a rotation', () => {
    expect(failureOf(() => verifyIndexingWebhook(body, signed, ['another-secret-of-16', SECRET]))).toBe('verified');
    expect(failureOf(() => verifyIndexingWebhook(body, signed, [SECRET, undefined]))).toBe('verified');
    expect(failureOf(() => verifyIndexingWebhook(body, signed, ['another-secret-of-16']))).toBe('bad_signature');
  });

  test.each([
    ['no header', {}, 'missing_signature'],
    ['an empty header', { 'x-service-signature': '' }, 'missing_signature'],
    ['two headers', { 'x-service-signature': [hmac(body), hmac(body)] }, 'missing_signature'],
    ['the digest without its prefix', { 'x-service-signature': hmac(body).slice(7) }, 'bad_signature'],
    ['an upper-case digest', { 'x-service-signature': `sha256=${hmac(body).slice(7).toUpperCase()}` }, 'bad_signature'],
    [
      'a base64 digest',
      { 'x-service-signature': `sha256=${createHmac('sha256', SECRET).update(body).digest('base64')}` },
      'bad_signature',
    ],
    ['a truncated digest', { 'x-service-signature': hmac(body).slice(0, -1) }, 'bad_signature'],
    ['a longer value', { 'x-service-signature': `${hmac(body)} ` }, 'bad_signature'],
    ['another secret', { 'x-service-signature': hmac(body, 'another-secret-of-16') }, 'bad_signature'],
    ['an empty secret', { 'x-service-signature': hmac(body, '') }, 'bad_signature'],
    ['non-ASCII characters', { 'x-service-signature': 'sha256=ééé' }, 'bad_signature'],
  ])('with %s is not trusted', (_what, headers, code) => {
    expect(failureOf(() => verifyIndexingWebhook(body, headers, SECRET))).toBe(code);
  });

  test('a body with other bytes but the same meaning does not verify', () => {
    const reserialised = JSON.stringify(event, null, 2);
    expect(failureOf(() => verifyIndexingWebhook(reserialised, signed, SECRET))).toBe('bad_signature');
    expect(failureOf(() => verifyIndexingWebhook(`${body} `, signed, SECRET))).toBe('bad_signature');
  });

  test.each([[undefined], [''], [[]], [[undefined, '']]])('without a secret (%j) nothing is trusted', (secret) => {
    const forged = { 'x-service-signature': hmac(body, '') };
    expect(failureOf(() => verifyIndexingWebhook(body, forged, secret))).toBe('missing_secret');
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
    expect(failureOf(() => verifyIndexingWebhook(text, { 'x-service-signature': hmac(text) }, SECRET))).toBe(
      'malformed_body',
    );
  });

  test('signed bytes that are not UTF-8 are malformed', () => {
    const bytes = Buffer.from([0x22, 0xff, 0x22]);
    expect(failureOf(() => verifyIndexingWebhook(bytes, { 'x-service-signature': hmac(bytes) }, SECRET))).toBe(
      'malformed_body',
    );
  });
});

describe('a crew callback', () => {
  const callback = {
    event: 'task_completed',
    execution_id: '0b1d',
    task_id: 'draft_reply',
    agent: 'reply_writer',
    output: 'Grüße',
    meta: null,
    timestamp: '2026-01-15T09:30:00.000Z',
  };
  const text = JSON.stringify(callback, null, 2);
  const verified = (value: object, secret = SECRET) => {
    const raw = JSON.stringify(value);
    return verifyCrewCallback(raw, { 'x-service-signature': hmac(raw) }, secret);
  };

  test('verifies with the secret of the indexing webhook and returns the callback', () => {
    const signed = { 'X-Service-Signature': hmac(text), 'X-Service-Delivery-ID': 'dlv_1' };
    expect(verifyCrewCallback(text, signed, SECRET)).toEqual(callback);
    expect(verifyCrewCallback(Buffer.from(text), new Headers(signed), ['another-secret-of-16', SECRET])).toEqual(
      callback,
    );
    expect(failureOf(() => verifyCrewCallback(text, signed, 'another-secret-of-16'))).toBe('bad_signature');
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
    expect(failureOf(() => verifyIndexingWebhook(text, { 'x-service-signature': hmac(text) }, SECRET))).toBe(
      'malformed_body',
    );
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
