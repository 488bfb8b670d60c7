import { createHmac } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { signatureHeader } from '../../domain/webhooks/headers.js';
import { clientDuringTests, receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { sharedProduct, withDb } from '../support/product.js';
import { startReceiver } from '../support/receiver.js';
import { storeDelivery } from '../support/records.js';

describe('webhooks of the indexing service', () => {
  const product = sharedProduct();
  const api = clientDuringTests('webhooks', product);
  const receiver = receiverDuringTests();
  beforeAll(() => api.createDatabase('hooks'));

  beforeEach(async () => {
    receiver.received.length = 0;
    receiver.respond = () => ({ status: 204 });
    await api.del('/webhooks/indexing');
  });

  let counter = 0;
  async function ingestNote(): Promise<string> {
    const id = `note-${counter++}`;
    const response = await api.ingest({
      database: 'hooks',
      memories: JSON.stringify([{ id, text: `Note ${id} about nothing in particular.` }]),
    });
    expect(response.status).toBe(202);
    await api.ended('hooks', id);
    return id;
  }

  const register = (extra: object = {}) => api.post('/webhooks/indexing', { url: receiver.url, ...extra });
  /** A delivery that no item was indexed for. */
  const deliver = (doc_id?: string) => storeDelivery(product.mongodbUri, 'webhooks', doc_id);
  const inState = (id: string, state: string) =>
    eventually(`${id} ${state}`, async () => {
      const { data } = (await api.get(`/webhooks/indexing/deliveries/${id}`)).body;
      return data.status === state ? data : undefined;
    });

  test('without a registration there are no deliveries', async () => {
    expect((await api.get('/webhooks/indexing')).body.data).toEqual({
      registered: false,
      url: null,
      event_types: [],
      signing_secret_configured: false,
      header_names: [],
      max_per_second: null,
      disabled_at: null,
      disabled_reason: null,
    });
    const before = (await api.get('/webhooks/indexing/deliveries?limit=100')).body.data.count;
    await ingestNote();
    expect((await api.get('/webhooks/indexing/deliveries?limit=100')).body.data.count).toBe(before);
    expect((await api.post('/webhooks/indexing/test')).body.error?.code).toBe('WEBHOOK_NOT_FOUND');
    expect((await api.del('/webhooks/indexing')).body.data.deleted).toBe(false);
  });

  test('a completed item has a signed webhook with the headers and the payload of the specification', async () => {
    const registered = await register({ generate_signing_secret: true });
    expect(registered.body.data).toMatchObject({
      registered: true,
      url: receiver.url,
      event_types: ['indexing.status_changed'],
      signing_secret_configured: true,
    });
    const secret = registered.body.data.signing_secret as string;
    const id = await ingestNote();
    const request = await receiver.waitFor('the webhook', ({ json }) => json.id === id);
    expect(request.headers['content-type']).toBe('application/json');
    expect(request.headers['x-service-event']).toBe('indexing.status_changed');
    expect(request.headers['x-service-delivery-id']).toBe(request.json.delivery_id);
    expect(request.headers['x-service-signature']).toBe(
      `sha256=${createHmac('sha256', secret).update(request.body).digest('hex')}`,
    );
    expect(request.json).toEqual({
      event: 'indexing.status_changed',
      delivery_id: expect.stringMatching(/^dlv_/),
      id,
      database: 'hooks',
      collection: 'default',
      tenant_id: expect.stringMatching(/^tnt_/),
      sub_tenant_id: 'default',
      status: 'completed',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      version: 1,
    });
    expect(await inState(String(request.json.delivery_id), 'delivered')).toMatchObject({
      doc_id: id,
      indexing_status: 'completed',
      attempts: 1,
      url: receiver.url,
      next_attempt_at: null,
      payload: request.json,
      attempt_log: [{ status_code: 204, error: null }],
    });
  });

  test('a webhook without a secret has no signature header', async () => {
    await register();
    const id = await deliver();
    const request = await receiver.waitFor('the webhook', ({ json }) => json.delivery_id === id);
    expect(request.headers).not.toHaveProperty('x-service-signature');
  });

  test('a failed item has a webhook with its error code', async () => {
    await register();
    await api.ingest({ database: 'hooks', document_metadata: JSON.stringify([{ id: 'broken.pdf' }]) }, [
      { name: 'broken.pdf', content: '%PDF-1.7\nnothing of a PDF follows' },
    ]);
    const request = await receiver.waitFor('the webhook', ({ json }) => json.id === 'broken.pdf');
    expect(request.json).toMatchObject({ status: 'errored', error_code: 'E2001', error_message: expect.any(String) });
  });

  test('replacing the registration keeps the stored secret; setting and generating a secret is 422', async () => {
    await register({ signing_secret: 'sixteen or more characters' });
    expect((await register()).body.data).toMatchObject({ signing_secret_configured: true });
    const both = await register({ signing_secret: 'sixteen or more characters', generate_signing_secret: true });
    expect([both.status, both.body.error?.code]).toEqual([422, 'VALIDATION_ERROR']);
    expect((await register({ signing_secret: 'too short' })).status).toBe(422);
    expect((await register({ event_types: [] })).status).toBe(422);
    expect((await register({ event_types: ['something.else'] })).status).toBe(422);
    expect(await api.post('/webhooks/indexing', {})).toMatchObject({ status: 400 });
    const id = await deliver();
    const request = await receiver.waitFor('the webhook', ({ json }) => json.delivery_id === id);
    expect(request.headers['x-service-signature']).toBe(
      `sha256=${createHmac('sha256', 'sixteen or more characters').update(request.body).digest('hex')}`,
    );
  });

  test('webhooks and test deliveries carry the headers of the registration, of which only the names are shown', async () => {
    const headers = { Authorization: 'Bearer of the gateway', 'X-Tenant': 'acme' };
    const registered = await register({ headers, signing_secret: 'sixteen or more characters', max_per_second: 50 });
    expect(registered.body.data).toMatchObject({ header_names: ['Authorization', 'X-Tenant'], max_per_second: 50 });
    const read = await api.get('/webhooks/indexing');
    expect(JSON.stringify([registered.body, read.body])).not.toContain('gateway');
    const id = await deliver();
    const request = await receiver.waitFor('the webhook', ({ json }) => json.delivery_id === id);
    expect(request.headers).toMatchObject({ authorization: 'Bearer of the gateway', 'x-tenant': 'acme' });
    expect(request.headers['x-service-signature']).toMatch(/^sha256=/);
    expect((await api.post('/webhooks/indexing/test')).body.data.delivered).toBe(true);
    expect(receiver.received.at(-1)!.headers).toMatchObject({ authorization: 'Bearer of the gateway' });
  });

  test('headers stay while the origin of the URL does, and no other receiver gets them', async () => {
    const names = async (request: object) => (await register(request)).body.data.header_names;
    const headers = { Authorization: 'Bearer of the gateway' };
    expect(await names({ headers })).toEqual(['Authorization']);
    expect(await names({ url: `${receiver.url}/other` })).toEqual(['Authorization']);
    expect(await names({ headers: {} })).toEqual([]);
    expect(await names({ headers })).toEqual(['Authorization']);
    expect(await names({ url: 'https://example.com/' })).toEqual([]);
    expect(await names({})).toEqual([]);
  });

  test.each<[string, object, string]>([
    ['Host', { Host: 'internal' }, 'headers.Host: is set by the sender'],
    ['Connection', { connection: 'close' }, 'headers.connection: is set by the sender'],
    ['Transfer-Encoding', { 'Transfer-Encoding': 'chunked' }, 'is set by the sender'],
    ['Content-Length', { 'content-length': '1' }, 'is set by the sender'],
    ['a signature', { 'X-Service-Signature': 'sha256=00' }, 'is set by the sender'],
    ['webhook-id', { 'Webhook-Id': 'dlv_1' }, 'is set by the sender'],
    ['another line', { 'X-A': 'a\r\nHost: b' }, 'headers.X-A: must be visible ASCII'],
    ['no name', { 'X A': 'a' }, 'is not the name of a header'],
    ['twice', { 'X-A': 'a', 'x-a': 'b' }, 'headers.x-a: is given twice'],
    ['too many', Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`X-${n}`, 'a'])), 'more than 10 headers'],
    ['too long', { 'X-A': 'a'.repeat(8_192) }, 'must not exceed 8192 characters'],
    ['a number', { 'X-A': 1 }, 'headers.X-A: must be a string'],
  ])('a registration with a header that is %s is rejected', async (_what, headers, message) => {
    const { status, body } = await register({ headers });
    expect([status, body.error?.code]).toEqual([422, 'VALIDATION_ERROR']);
    expect(body.error?.message).toContain(message);
    expect((await api.get('/webhooks/indexing')).body.data.registered).toBe(false);
  });

  test.each([0, 1.5, 1_001, 'ten'])('a rate of %s is rejected', async (max_per_second) => {
    expect(await register({ max_per_second })).toMatchObject({ status: 422 });
  });

  test.each([
    'http://example.com/',
    'https://10.0.0.1/',
    'https://[::1]/',
    'https://user:pw@example.com/',
    'https://169.254.169.254/latest',
    'not a url',
  ])('%s is rejected at registration', async (url) => {
    const response = await api.post('/webhooks/indexing', { url });
    expect([response.status, response.body.error?.code]).toEqual([422, 'VALIDATION_ERROR']);
  });

  test('a failed delivery waits for its next attempt, and a manual retry ends the wait', async () => {
    await register();
    receiver.respond = (_request, count) => ({ status: count <= 2 ? 500 : 204 });
    const delivery_id = await deliver();
    // Two attempts fail; the third follows after minutes.
    const waiting = await eventually('the second failure', async () => {
      const { data } = (await api.get(`/webhooks/indexing/deliveries/${delivery_id}`)).body;
      return data.status === 'failed' && data.attempts === 2 ? data : undefined;
    });
    expect(waiting).toMatchObject({ error_code: 'HTTP_500', next_attempt_at: expect.any(String) });
    const [first, second] = await Promise.all([
      api.post(`/webhooks/indexing/deliveries/${delivery_id}/retry`),
      api.post(`/webhooks/indexing/deliveries/${delivery_id}/retry`),
    ]);
    const statuses = [first.status, second.status].sort();
    expect(statuses).toEqual([200, 409]);
    await inState(delivery_id, 'delivered');
    expect(receiver.received).toHaveLength(3);
    const again = await api.post(`/webhooks/indexing/deliveries/${delivery_id}/retry`);
    expect([again.status, again.body.error?.code]).toEqual([409, 'DELIVERY_NOT_RETRYABLE']);
  });

  test('a permanently failed delivery is sent again by a manual retry', async () => {
    await register();
    receiver.respond = () => ({ status: 410 });
    const delivery_id = await deliver();
    await inState(delivery_id, 'permanently_failed');
    receiver.respond = () => ({ status: 204 });
    expect((await api.post(`/webhooks/indexing/deliveries/${delivery_id}/retry`)).body.data).toMatchObject({
      delivery_id,
      queued: true,
    });
    expect(await inState(delivery_id, 'delivered')).toMatchObject({ attempts: 2 });
  });

  test('a test delivery without an answer has status_code 0', async () => {
    const silent = await startReceiver();
    await silent.close();
    await api.post('/webhooks/indexing', { url: silent.url });
    expect((await api.post('/webhooks/indexing/test')).body.data).toMatchObject({
      delivered: false,
      status_code: 0,
      request: { url: silent.url },
      response: null,
    });
    await register({});
  });

  test('a test delivery is sent at once, marked as a test, and leaves no record', async () => {
    await register({ signing_secret: 'sixteen or more characters', headers: { 'X-Gateway': 'a token' } });
    const before = (await api.get('/webhooks/indexing/deliveries?limit=100')).body.data.count;
    receiver.respond = () => ({ status: 200, headers: { 'X-Answer': 'yes' }, body: 'taken' });
    const { data } = (await api.post('/webhooks/indexing/test')).body;
    const [request] = receiver.received;
    expect(data).toEqual({
      delivered: true,
      status_code: 200,
      message: expect.any(String),
      request: { url: receiver.url, headers: expect.anything(), body: request?.body.toString() },
      response: {
        status_code: 200,
        duration_ms: expect.any(Number),
        headers: expect.objectContaining({ 'x-answer': 'yes' }),
        body: 'taken',
      },
    });
    expect(data.request.headers).toEqual({
      'X-Gateway': '(not shown)',
      'Content-Type': 'application/json',
      'X-Service-Delivery-ID': request?.json.delivery_id,
      'X-Service-Event': 'indexing.status_changed',
      'X-Service-Signature': request?.headers['x-service-signature'],
      'webhook-id': request?.headers['webhook-id'],
      'webhook-timestamp': request?.headers['webhook-timestamp'],
      'webhook-signature': request?.headers['webhook-signature'],
    });
    expect(request?.headers['x-gateway']).toBe('a token');
    expect(request?.json).toMatchObject({
      test: true,
      delivery_id: expect.stringMatching(/^test_/),
      status: 'completed',
      database: 'webhooks',
      collection: 'webhooks',
      tenant_id: 'webhooks',
      sub_tenant_id: 'webhooks',
    });
    expect(request?.headers['x-service-signature']).toMatch(/^sha256=[0-9a-f]{64}$/);
    receiver.respond = () => ({ status: 418 });
    expect((await api.post('/webhooks/indexing/test')).body.data).toMatchObject({ delivered: false, status_code: 418 });
    expect((await api.get('/webhooks/indexing/deliveries?limit=100')).body.data.count).toBe(before);
  });

  test('the signing secret is generated, set and deleted without a new registration', async () => {
    expect((await api.post('/webhooks/indexing/signing-secret')).status).toBe(404);
    await register();
    const generated = (await api.post('/webhooks/indexing/signing-secret')).body.data;
    expect(generated).toMatchObject({ generated: true, signing_secret: expect.stringMatching(/^whsec_/) });
    const set = (await api.post('/webhooks/indexing/signing-secret', { signing_secret: 'my own secret, long' })).body
      .data;
    expect(set).toEqual({ generated: false, message: expect.any(String) });
    expect((await api.get('/webhooks/indexing')).body.data).not.toHaveProperty('signing_secret');
    expect((await api.del('/webhooks/indexing/signing-secret')).body.data).toMatchObject({ deleted: true });
    expect((await api.get('/webhooks/indexing')).body.data.signing_secret_configured).toBe(false);
  });

  test('a delivery shows its last request, signed with the current secret and without static headers', async () => {
    const headers = { Authorization: 'Bearer a token' };
    await register({ signing_secret: 'sixteen or more characters', headers });
    const id = await ingestNote();
    const received = await receiver.waitFor('the webhook', ({ json }) => json.id === id);
    const delivery_id = received.json.delivery_id as string;
    const { request } = await inState(delivery_id, 'delivered');
    expect(request).toMatchObject({ url: receiver.url, body: received.body.toString() });
    expect(request.headers).toMatchObject({
      Authorization: '(not shown)',
      'webhook-id': delivery_id,
      'X-Service-Signature': received.headers['x-service-signature'],
    });
    await api.post('/webhooks/indexing/signing-secret', { signing_secret: 'another secret of mine' });
    const rotated = (await api.get(`/deliveries/${delivery_id}`)).body.data.request;
    expect(rotated.headers['X-Service-Signature']).toBe(signatureHeader(received.body, 'another secret of mine'));
  });

  test('a delivery that was never sent has no request', async () => {
    const delivery_id = await deliver();
    const { request } = await inState(delivery_id, 'permanently_failed');
    expect(request).toBeNull();
  });

  test('a webhook that the organisation disables gets nothing until it is registered again', async () => {
    expect((await api.post('/webhooks/indexing/disable')).status).toBe(404);
    await register({ signing_secret: 'sixteen or more characters', headers: { 'X-Gateway': 'a token' } });
    expect((await api.post('/webhooks/indexing/disable')).body.data).toMatchObject({
      registered: true,
      disabled_at: expect.any(String),
      disabled_reason: 'The organisation has disabled it.',
    });
    const delivery_id = await deliver();
    expect(await inState(delivery_id, 'permanently_failed')).toMatchObject({ error_code: 'WEBHOOK_DISABLED' });
    expect(receiver.received).toEqual([]);
    const { disabled_at, signing_secret_configured, header_names } = (await register()).body.data;
    expect([disabled_at, signing_secret_configured, header_names]).toEqual([null, true, ['X-Gateway']]);
    await api.post(`/webhooks/indexing/deliveries/${delivery_id}/retry`);
    await inState(delivery_id, 'delivered');
  });

  test('a secret that is rotated while a delivery waits signs the next attempt', async () => {
    await register({ signing_secret: 'the previous secret' });
    receiver.respond = () => ({ status: 500 });
    const delivery_id = await deliver();
    await inState(delivery_id, 'failed');
    const { signing_secret } = (await api.post('/webhooks/indexing/signing-secret')).body.data;
    receiver.respond = () => ({ status: 204 });
    await api.post(`/webhooks/indexing/deliveries/${delivery_id}/retry`);
    await inState(delivery_id, 'delivered');
    const [first, last] = [receiver.received[0]!, receiver.received.at(-1)!];
    expect(first.headers['x-service-signature']).toBe(signatureHeader(first.body, 'the previous secret'));
    expect(last.headers['x-service-signature']).toBe(signatureHeader(last.body, signing_secret));
    expect(last.body.equals(first.body)).toBe(true);
  });

  test('a delivery expires 30 days after it ended; a retried delivery and items do not expire', async () => {
    await register();
    receiver.respond = () => ({ status: 410 });
    const delivery_id = await deliver();
    await inState(delivery_id, 'permanently_failed');
    await withDb(product.mongodbUri, async (db) => {
      const deliveries = db.collection<{ _id: string; expires_at: Date | null; updated_at: Date }>('deliveries');
      const { expires_at, updated_at } = (await deliveries.findOne({ _id: delivery_id }))!;
      expect(expires_at!.getTime() - updated_at.getTime()).toBe(30 * 24 * 60 * 60 * 1000);
      // MongoDB removes expired records within a minute.
      expect(await deliveries.indexes()).toContainEqual(
        expect.objectContaining({ key: { expires_at: 1 }, expireAfterSeconds: 0 }),
      );
      for (const index of await db.collection('items').indexes())
        expect(index).not.toHaveProperty('expireAfterSeconds');
      receiver.respond = () => ({ status: 500 });
      await api.post(`/webhooks/indexing/deliveries/${delivery_id}/retry`);
      await inState(delivery_id, 'failed');
      expect((await deliveries.findOne({ _id: delivery_id }))!.expires_at).toBeNull();
    });
  });

  test('a delivery is sweeping during an attempt, and failed with the time of the next attempt between attempts', async () => {
    await register();
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    receiver.hold = () => held;
    receiver.respond = () => ({ status: 500 });
    const delivery_id = await deliver();
    expect(await inState(delivery_id, 'sweeping')).toMatchObject({ attempts: 1, attempt_log: [] });
    const early = await api.post(`/webhooks/indexing/deliveries/${delivery_id}/retry`);
    expect([early.status, early.body.error?.code]).toEqual([409, 'DELIVERY_NOT_RETRYABLE']);
    release!();
    const failed = await inState(delivery_id, 'failed');
    expect(Date.parse(failed.next_attempt_at)).toBeGreaterThan(Date.parse(failed.updated_at));
    receiver.hold = undefined;
  });

  test('deliveries are listed newest first, in pages and filtered by status', async () => {
    await register();
    const ids = ['first', 'second', 'third'];
    for (const id of ids) await inState(await deliver(id), 'delivered');
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const { data } = (await api.get(`/webhooks/indexing/deliveries?limit=1&status=delivered${query}`)).body;
      expect(data.count).toBe(1);
      seen.push(data.deliveries[0].doc_id);
      cursor = data.next_cursor;
      // A newer delivery does not change the following pages.
      if (seen.length === 1) await inState(await deliver('newer'), 'delivered');
    } while (cursor !== null && seen.length < 3);
    expect(seen).toEqual([...ids].reverse());
    expect((await api.get('/webhooks/indexing/deliveries?cursor=nonsense')).status).toBe(400);
    expect((await api.get('/webhooks/indexing/deliveries?limit=101')).status).toBe(400);
    expect((await api.get('/webhooks/indexing/deliveries?status=unknown')).status).toBe(400);
    expect((await api.get('/webhooks/indexing/deliveries/dlv_none')).body.error?.code).toBe('DELIVERY_NOT_FOUND');
  });
});
