import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { CallbackRequest } from '../../activities/webhooks/callback.js';
import { createIndexingCallback } from '../../activities/webhooks/indexing-callback.js';
import { newDeliveryId } from '../../domain/ids.js';
import { createSealer } from '../../domain/sealing.js';
import { DAY_MS, INDEXING_DELIVERY_POLICY } from '../../domain/webhooks/delivery-policy.js';
import { type Collections, connectCollections } from '../../storage/collections.js';
import { createRegistrations, type Registrations } from '../../storage/webhooks/registrations.js';
import { sharedProduct } from '../support/product.js';
import { deliveryRecord } from '../support/records.js';

describe('disabling a webhook', () => {
  let collections: Collections;
  let registrations: Registrations;
  const start = new Date('2026-01-01T00:00:00Z');
  let counter = 0;

  beforeAll(async () => {
    collections = await connectCollections(sharedProduct().mongodbUri, 'postback-test');
    registrations = createRegistrations(collections, createSealer(randomBytes(32).toString('base64')));
  });
  afterAll(() => collections.mongoClient.close());

  /** Returns a registration after these attempts; each has its number of days since the start. */
  async function afterAttempts(attempts: [days: number, delivered: boolean][], disableAfterMs: number | null) {
    const org = `disabling-${process.pid}-${counter++}`;
    const callback = createIndexingCallback({
      registrations,
      policy: INDEXING_DELIVERY_POLICY,
      disableAfterMs,
      log: pino({ level: 'silent' }),
    });
    await registrations.register(org, 'https://example.com/', ['indexing.status_changed']);
    for (const [days, delivered] of attempts) {
      const now = new Date(start.getTime() + days * DAY_MS);
      const request = await callback.prepare(deliveryRecord({ _id: newDeliveryId(), org, now }));
      await (request as CallbackRequest).attempted!(delivered, now);
    }
    return (await registrations.findForOrg(org))!;
  }

  test('five days with failed attempts only disable the webhook', async () => {
    const disabled = await afterAttempts([[0, false], [2, false], [5, false]], 5 * DAY_MS); // biome-ignore format: a timeline
    expect(disabled).toMatchObject({
      disabled_at: new Date('2026-01-06T00:00:00Z'),
      disabled_reason: 'Every attempt since 2026-01-01T00:00:00.000Z has failed.',
    });
  });

  test.each<[string, [number, boolean][], number | null]>([
    ['with a successful attempt in between', [[0, false], [4, true], [5, false], [9, false]], 5 * DAY_MS], // biome-ignore format: a timeline
    ['when the failures span less than five days', [[0, false], [4.9, false]], 5 * DAY_MS], // biome-ignore format: a timeline
    ['when the operator has not enabled it', [[0, false], [300, false]], null], // biome-ignore format: a timeline
  ])('a webhook is not disabled %s', async (_name, attempts, limit) => {
    expect((await afterAttempts(attempts, limit)).disabled_at).toBeNull();
  });

  test('an attempt at a replaced address does not count against the new address', async () => {
    const before = await afterAttempts([[0, false]], 5 * DAY_MS);
    const replaced = await registrations.register(before._id, 'https://example.org/', ['indexing.status_changed']);
    await registrations.disable(before, 'too late', start);
    expect((await registrations.findForOrg(replaced._id))!).toMatchObject({ disabled_at: null, failing_since: null });
  });
});
