import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { signatureHeader } from '../../domain/webhooks/headers.js';
import type { AuthenticationRecord } from '../../storage/payments/authentications.js';
import { connectTemporal } from '../../temporal/connection.js';
import { receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { createMerchant, type Merchant } from '../support/payments.js';
import { sharedProduct, startApi, withDb } from '../support/product.js';
import { reconcile } from '../support/reconcile.js';

describe('the end of an authentication', () => {
  const product = sharedProduct();
  const payment = { amount: 1250, currency: 'EUR' };
  let api: Awaited<ReturnType<typeof startApi>>;
  /** Its authentications expire after two seconds. */
  let brief: Merchant;
  let merchant: Merchant;
  let secret: string;
  const receiver = receiverDuringTests();
  beforeAll(async () => {
    api = await startApi(product, {
      POSTBACK_AUTHENTICATION_SECONDS: '2',
      POSTBACK_SEALING_KEY: readFileSync(join(product.dataDir, 'sealing.key'), 'utf8'),
      OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
    });
    brief = await createMerchant({ ...product, apiUrl: api.apiUrl }, 'payment-ends');
    merchant = await createMerchant(product, 'payment-ends');
    const set = await merchant.server('POST', '/authentication/signing-secret', { json: {} });
    secret = set.body.signing_secret;
  });
  afterAll(() => api?.stop());

  const start = (from: Merchant) => from.start({ ...payment, webhook_url: receiver.url });
  const stored = (id: string) =>
    withDb(product.mongodbUri, (db) =>
      db
        .collection<AuthenticationRecord>('authentications')
        .findOne({ _id: id }, { projection: { status: 1, _id: 0 } }),
    );
  const callbackOf = (id: string) => receiver.waitFor('the callback', ({ json }) => json.authentication_id === id);

  test('happens without a request, and sends a signed callback', async () => {
    const silent = await start(brief);
    // On a busy machine its time can pass before it is checked.
    const checked = await eventually('one that is checked in time', async () => {
      const started = await start(brief);
      const { body } = await brief.check(started, { network_b: { consumerPresent: true } });
      return body.sdk_next_action === 'await_merchant_callback' && started;
    });
    const request = await callbackOf(silent.id);
    expect(request.json).toEqual({
      event: 'authentication.ended',
      delivery_id: request.headers['webhook-id'],
      authentication_id: silent.id,
      status: 'expired',
      ...payment,
      sdk_next_action: null,
      timestamp: expect.any(String),
    });
    expect(request.headers).toMatchObject({
      'x-service-event': 'authentication.ended',
      'x-service-signature': signatureHeader(request.body, secret),
      'webhook-signature': expect.stringMatching(/^v1,/),
    });
    expect(await stored(silent.id)).toEqual({ status: 'expired' });
    expect((await callbackOf(checked.id)).json).toMatchObject({
      status: 'expired',
      sdk_next_action: 'await_merchant_callback',
    });
  });

  test('is announced when the merchant closes it, and not again when its time has passed', async () => {
    const { id } = await start(merchant);
    expect((await merchant.server('POST', `/authentication/${id}/close`)).body.status).toBe('closed');
    expect((await callbackOf(id)).json).toMatchObject({ status: 'closed' });
    await merchant.server('POST', `/authentication/${id}/close`);
    const deliveries = await withDb(product.mongodbUri, (db) =>
      db.collection('deliveries').countDocuments({ doc_id: id, event_type: 'authentication.ended' }),
    );
    expect(deliveries).toBe(1);
  });

  test('comes through the reconciler when the timer was never started', async () => {
    const { id } = await start(merchant);
    const past = new Date(Date.now() - 60_000);
    const set = (change: Partial<AuthenticationRecord>) =>
      withDb(product.mongodbUri, (db) =>
        db.collection<AuthenticationRecord>('authentications').updateOne({ _id: id }, { $set: change }),
      );
    await set({ expires_at: past, check_at: new Date(Date.now() + 3_600_000) });
    // As if the process had died before it started the timer.
    const temporal = await connectTemporal(product.temporalAddress, 'default');
    await temporal.workflow.getHandle(`authentication/${id}`).terminate();
    await temporal.connection.close();
    expect((await merchant.server('GET', `/authentication/${id}`)).body.status).toBe('expired');
    expect(await stored(id)).toEqual({ status: 'started' });
    await set({ check_at: past });
    await reconcile(product);
    expect((await callbackOf(id)).json).toMatchObject({ status: 'expired' });
  });

  test('is not announced to addresses of private networks', async () => {
    const json = { ...payment, webhook_url: 'https://10.0.0.1/hook' };
    const rejected = await merchant.server('POST', '/authentication', { json });
    expect([rejected.status, rejected.body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
  });
});
