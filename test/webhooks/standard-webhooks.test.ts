import { spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { verifyCrewCallback, verifyIndexingWebhook } from '../../receiver/index.js';
import { createCrewClient } from '../support/crew-client.js';
import { eventually } from '../support/eventually.js';
import { clientOf } from '../support/organisation.js';
import { makeKey, sharedProduct, withDb } from '../support/product.js';
import { pythonEnvironmentWith } from '../support/python.js';
import { type Received, startReceiver } from '../support/receiver.js';
import { storeDelivery } from '../support/records.js';

const CREW_INPUTS = { customer_message: 'Where is my parcel?', notes: 'Parcels take two days.' };

const { apiUrl, mongodbUri } = sharedProduct();
const org = 'standard-webhooks';
const api = await clientOf(org);
const receiver = await startReceiver();
afterAll(() => receiver.close());

describe('Standard Webhooks', () => {
  let secret: string;
  let items = 0;
  beforeEach(async () => {
    receiver.respond = () => ({ status: 204 });
    await api.del('/webhooks/indexing');
    const registered = await api.post('/webhooks/indexing', { url: receiver.url, generate_signing_secret: true });
    secret = registered.body.data.signing_secret;
  });

  const rotate = async (body?: object) => (await api.post('/webhooks/indexing/signing-secret', body)).body.data;
  const webhook = async () => {
    const id = await storeDelivery(mongodbUri, org, `note ${++items} ü`);
    return receiver.waitFor('the webhook', ({ json }) => json.delivery_id === id);
  };
  const standardHeaders = ({ headers }: Received) => ({
    'webhook-id': String(headers['webhook-id']),
    'webhook-timestamp': String(headers['webhook-timestamp']),
    'webhook-signature': String(headers['webhook-signature']),
  });
  const verify = (request: Received, key: string | Webhook = secret) =>
    (typeof key === 'string' ? new Webhook(key) : key).verify(request.body, standardHeaders(request));
  const signatures = (request: Received) => standardHeaders(request)['webhook-signature'].split(' ');
  const hmac = ({ body }: Received, key: string) => `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;

  test('a generated secret is whsec_ and standard base64 of 32 bytes', async () => {
    const { signing_secret } = await rotate();
    for (const generated of [secret, signing_secret as string]) {
      expect(generated).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(Buffer.from(generated.slice(6), 'base64')).toHaveLength(32);
    }
  });

  test('the published library verifies a webhook, and rejects replays and changes', async () => {
    const request = await webhook();
    expect(verify(request)).toEqual(request.json);
    expect(verifyIndexingWebhook(request.body, request.headers, secret)).toEqual(request.json);
    expect(request.headers).toMatchObject({
      'webhook-id': request.json.delivery_id,
      'x-service-delivery-id': request.json.delivery_id,
      'x-service-signature': hmac(request, secret),
    });
    const timestamp = Number(standardHeaders(request)['webhook-timestamp']);
    expect(Math.abs(Date.now() / 1000 - timestamp)).toBeLessThan(60);
    const replayed = (age: number) =>
      new Webhook(secret).verify(request.body, {
        ...standardHeaders(request),
        'webhook-timestamp': String(timestamp - age),
      });
    expect(() => replayed(400)).toThrow('Message timestamp too old');
    expect(() => replayed(1)).toThrow('No matching signature');
    expect(() => verify({ ...request, body: Buffer.concat([request.body, Buffer.from(' ')]) })).toThrow('No matching');
    expect(() => verify(request, `whsec_${Buffer.alloc(32).toString('base64')}`)).toThrow('No matching');
  });

  const python = pythonEnvironmentWith('standardwebhooks');
  (python ? test : test.skip)('the published Python library does so too (needs python3 and PyPI)', async () => {
    await rotate();
    const request = await webhook();
    const script = [
      'import json, sys',
      'from standardwebhooks.webhooks import Webhook, WebhookVerificationError',
      'body, headers, secret = json.load(sys.stdin)',
      'try:',
      '    print(Webhook(secret).verify(body, headers)["delivery_id"])',
      'except WebhookVerificationError as error:',
      '    print(error)',
    ].join('\n');
    const output = (headers: object, key = secret) => {
      const input = JSON.stringify([request.body.toString(), headers, key]);
      const { stdout, stderr } = spawnSync('python3', ['-c', script], { env: python!, input });
      return `${stdout}${stderr}`.trim();
    };
    const headers = standardHeaders(request);
    expect(output(headers)).toBe(request.json.delivery_id);
    const old = String(Number(headers['webhook-timestamp']) - 400);
    expect(output({ ...headers, 'webhook-timestamp': old })).toBe('Message timestamp too old');
    expect(output({ ...headers, 'webhook-id': 'dlv_other' })).toBe('No matching signature found');
  });

  test('every attempt keeps the id and has its own time', async () => {
    receiver.respond = () => ({ status: 410 });
    const first = await webhook();
    const retry = `/webhooks/indexing/deliveries/${first.json.delivery_id}/retry`;
    const timeOf = (request: Received) => Number(standardHeaders(request)['webhook-timestamp']);
    await eventually('the next second', () => Date.now() / 1000 >= timeOf(first) + 1);
    receiver.respond = () => ({ status: 204 });
    await eventually('a manual retry', async () => (await api.post(retry)).status === 200);
    const second = await receiver.waitFor(
      'the second attempt',
      (request) => request !== first && request.json.delivery_id === first.json.delivery_id,
    );
    expect(standardHeaders(second)['webhook-id']).toBe(standardHeaders(first)['webhook-id']);
    expect(timeOf(second)).toBeGreaterThan(timeOf(first));
    expect(verify(second)).toEqual(first.json);
  });

  test('after a rotation both secrets verify for 24 hours', async () => {
    const { signing_secret } = await rotate();
    const request = await webhook();
    expect(signatures(request)).toHaveLength(2);
    for (const key of [secret, signing_secret]) {
      expect(verify(request, key)).toEqual(request.json);
      expect(verifyIndexingWebhook(request.body, request.headers, key)).toEqual(request.json);
    }
    expect(request.headers['x-service-signature']).toBe(hmac(request, signing_secret));

    const { until } = await withDb(mongodbUri, async (db) => {
      const [previous] = (await registrationsOf(db).findOne({ _id: org }))!.previous_secrets;
      // Long ago: the worker's estimate of the time may be behind that of this process.
      await registrationsOf(db).updateOne({ _id: org }, { $set: { 'previous_secrets.0.until': new Date(0) } });
      return previous!;
    });
    expect(Math.abs(until.getTime() - Date.now() - 24 * 60 * 60 * 1000)).toBeLessThan(5 * 60 * 1000);
    const later = await webhook();
    expect(signatures(later)).toHaveLength(1);
    expect(verify(later, signing_secret)).toEqual(later.json);
  });

  test('a second rotation keeps the first secret for its 24 hours; the same secret again is no rotation', async () => {
    const chosen = 'sixteen or more characters';
    await rotate({ signing_secret: chosen });
    const { signing_secret: newest } = await rotate();
    for (let repeat = 0; repeat < 5; repeat += 1) await rotate({ signing_secret: newest });
    await api.post('/webhooks/indexing', { url: receiver.url, signing_secret: newest });
    const request = await webhook();
    expect(signatures(request)).toHaveLength(3);
    expect(verify(request, newest)).toEqual(request.json);
    expect(verify(request, new Webhook(chosen, { format: 'raw' }))).toEqual(request.json);
    expect(verify(request)).toEqual(request.json);
  });

  test('a deleted secret signs nothing, not even as the previous one', async () => {
    await rotate();
    await api.del('/webhooks/indexing/signing-secret');
    const unsigned = await webhook();
    for (const name of ['x-service-signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature'])
      expect(unsigned.headers).not.toHaveProperty(name);
    const { signing_secret } = await rotate();
    const request = await webhook();
    expect(signatures(request)).toHaveLength(1);
    expect(verify(request, signing_secret)).toEqual(request.json);
  });

  test('a test delivery verifies', async () => {
    await api.post('/webhooks/indexing/test');
    const request = await receiver.waitFor('the test', ({ json }) => json.test === true);
    expect(verify(request)).toEqual(request.json);
    expect(request.headers['webhook-id']).toMatch(/^test_/);
  });

  test('crew callbacks have a secret of their own, which is set and deleted apart from that of the webhook', async () => {
    const crew = createCrewClient(apiUrl, 'support-reply', (await makeKey(mongodbUri, org, 'crew_org')).key);
    const callback = async () => {
      const id = await crew.start(CREW_INPUTS, { taskWebhookUrl: receiver.url });
      return receiver.waitFor('the callback', ({ json }) => json.execution_id === id);
    };
    expect((await callback()).headers).not.toHaveProperty('x-service-signature');
    const generated = await crew.request('POST', '/crews/signing-secret');
    const { signing_secret } = generated.body;
    expect(generated.body).toEqual({
      generated: true,
      signing_secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      message: expect.any(String),
    });
    const signed = await callback();
    expect(verify(signed, signing_secret)).toEqual(signed.json);
    expect(verifyCrewCallback(signed.body, signed.headers, signing_secret)).toEqual(signed.json);
    expect(signed.headers['x-service-signature']).toBe(hmac(signed, signing_secret));
    expect(signed.headers['webhook-id']).toBe(signed.headers['x-service-delivery-id']);
    expect(() => verify(signed, secret)).toThrow('No matching');

    const chosen = await crew.request('POST', '/crews/signing-secret', {
      signing_secret: 'sixteen or more characters',
    });
    expect(chosen.body).toEqual({ generated: false, message: expect.any(String) });
    await api.del('/webhooks/indexing');
    const rotated = await callback();
    expect(signatures(rotated)).toHaveLength(2);
    expect(verify(rotated, signing_secret)).toEqual(rotated.json);
    expect(rotated.headers['x-service-signature']).toBe(hmac(rotated, 'sixteen or more characters'));

    await api.post('/webhooks/indexing', { url: receiver.url, signing_secret: secret });
    expect((await crew.request('DELETE', '/crews/signing-secret')).body).toMatchObject({ deleted: true });
    expect((await crew.request('DELETE', '/crews/signing-secret')).body).toMatchObject({ deleted: false });
    expect((await callback()).headers).not.toHaveProperty('webhook-signature');
    const indexed = await webhook();
    expect(verify(indexed)).toEqual(indexed.json);
  });

  test('the secret for crews is validated, and belongs to the organisation', async () => {
    const { key } = await makeKey(mongodbUri, org, 'crew_user');
    const user = createCrewClient(apiUrl, 'support-reply', key);
    for (const method of ['POST', 'DELETE'] as const)
      expect((await user.request(method, '/crews/signing-secret')).status).toBe(403);
    const crew = createCrewClient(apiUrl, 'support-reply', (await makeKey(mongodbUri, org, 'crew_org')).key);
    expect((await crew.request('POST', '/crews/signing-secret', { signing_secret: 'too short' })).status).toBe(400);
  });
});

interface StoredRegistration {
  _id: string;
  previous_secrets: { until: Date }[];
}

function registrationsOf(db: import('mongodb').Db) {
  return db.collection<StoredRegistration>('registrations');
}
