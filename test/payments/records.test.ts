import { beforeAll, describe, expect, test } from '@jest/globals';
import type { AuthenticationRecord, EligibilityDataRecord } from '../../storage/payments/authentications.js';
import { logWith } from '../support/logs.js';
import { createMerchant, type Merchant } from '../support/payments.js';
import { sharedProduct, withDb } from '../support/product.js';

const PRESENT = { network_a: { consumerPresent: true } };
const ABSENT = { network_a: { consumerPresent: false } };

describe('the records of an authentication', () => {
  const product = sharedProduct();
  let merchant: Merchant;

  beforeAll(async () => {
    merchant = await createMerchant(product, 'payment-records');
  });

  /** Sets the end of the retention to the past. */
  const endRetention = (collection: 'authentications' | 'eligibility_data', id: string) =>
    withDb(product.mongodbUri, (db) =>
      db
        .collection<{ _id: string }>(collection)
        .updateOne({ _id: id }, { $set: { remove_at: new Date(Date.now() - 60_000) } }),
    );

  test('neither the database nor the log has secrets or customer data in plain text', async () => {
    const words = ['203.0.113.77', 'Mozilla/5.0 (Sealed)', 'lookup-session-4711', 'grace@example.com', 'order-0815'];
    const started = await merchant.start({
      amount: 1,
      currency: 'USD',
      customer: { email: words[3] },
      metadata: { order: words[4] },
    });
    const networks = {
      network_a: { consumerPresent: true, customData: { ip_address: words[0], user_agent: words[1] } },
      network_b: { idLookupSessionId: words[2] },
    };
    await merchant.check(started, networks);
    await merchant.getEligibilityResult(started);
    const last = await merchant.server('GET', `/authentication/${started.id}`);
    expect(last.body.eligibility_check.eligibility_check_data.click_to_pay).toEqual(networks);

    // The stored bytes, as they are readable on the disk.
    const stored = await withDb(product.mongodbUri, async (db) => {
      const names = (await db.listCollections().toArray()).map(({ name }) => name);
      const documents = await Promise.all(names.map((name) => db.collection(name).find({}, { raw: true }).toArray()));
      return Buffer.concat(documents.flat() as unknown as Buffer[]).toString('latin1');
    });
    const log = await logWith(product.dataDir, 'api', last.headers.get('x-request-id')!);
    for (const text of [stored, log]) {
      expect(text).toContain(started.id);
      for (const word of [started.secret, started.secret.split('_secret_')[1]!, ...words]) {
        expect(text).not.toContain(word);
      }
    }
  });

  test('device data is removed first, and a repeated check is still recognised', async () => {
    const started = await merchant.start();
    const first = await merchant.check(started, PRESENT);
    await endRetention('eligibility_data', started.id);
    const read = (await merchant.server('GET', `/authentication/${started.id}`)).body;
    expect(read.eligibility_check).toMatchObject({ eligibility_check_data: null });
    expect((await merchant.check(started, PRESENT)).body).toEqual(first.body);
    expect((await merchant.check(started, ABSENT)).status).toBe(409);
  });

  test('no route returns it after its retention', async () => {
    const started = await merchant.start();
    await merchant.check(started, PRESENT);
    await endRetention('authentications', started.id);
    expect((await merchant.server('GET', `/authentication/${started.id}`)).status).toBe(404);
    expect((await merchant.server('POST', `/authentication/${started.id}/close`)).status).toBe(404);
    expect((await merchant.check(started, PRESENT)).status).toBe(401);
  });

  test('MongoDB removes the device data after a day and the record after thirty days', async () => {
    const started = await merchant.start();
    await merchant.check(started, PRESENT);
    const day = 24 * 60 * 60 * 1000;
    await withDb(product.mongodbUri, async (db) => {
      const record = await db.collection<AuthenticationRecord>('authentications').findOne({ _id: started.id });
      const data = await db.collection<EligibilityDataRecord>('eligibility_data').findOne({ _id: started.id });
      expect(record!.remove_at.getTime() - record!.expires_at.getTime()).toBe(30 * day);
      expect(data!.remove_at.getTime() - record!.check!.checked_at.getTime()).toBe(day);
      for (const name of ['authentications', 'eligibility_data']) {
        expect(await db.collection(name).indexes()).toContainEqual(
          expect.objectContaining({ key: { remove_at: 1 }, expireAfterSeconds: 0 }),
        );
      }
    });
  });
});
