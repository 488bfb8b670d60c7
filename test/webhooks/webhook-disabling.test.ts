import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { CallbackRequest } from '../../activities/webhooks/callback.js';
import { createIndexingCallback } from '../../activities/webhooks/indexing-callback.js';
import { createFailureNotices } from '../../activities/webhooks/operator-callback.js';
import { newDeliveryId } from '../../domain/ids.js';
import { createSealer } from '../../domain/sealing.js';
import { DAY_MS, INDEXING_DELIVERY_POLICY } from '../../domain/webhooks/delivery-policy.js';
import { createRegistrations, type Registrations } from '../../storage/webhooks/registrations.js';
import { collectionsDuringTests } from '../support/during-tests.js';
import { sharedProduct } from '../support/product.js';
import { deliveryRecord } from '../support/records.js';

describe('disabling a webhook', () => {
  let registrations: Registrations;
  const start = new Date('2026-01-01T00:00:00Z');
  let counter = 0;
  const collections = collectionsDuringTests(sharedProduct().mongodbUri);
  beforeAll(async () => {
    registrations = createRegistrations(collections, createSealer(randomBytes(32).toString('base64')));
  });

  /** Returns a registration after these attempts; each has its number of days since the start. */
  async function afterAttempts(attempts: [days: number, delivered: boolean][], disableAfterMs: number | null) {
    const org = `disabling-${process.pid}-${counter++}`;
    const callback = createIndexingCallback({
      registrations,
      policy: INDEXING_DELIVERY_POLICY,
      disableAfterMs,
      notices: createFailureNotices(null, pino({ level: 'silent' })),
      log: pino({ level: 'silent' }),
    });
    await registrations.register(org, 'https://example.com/', ['indexing.status_changed']);
    for (const [days, delivered] of attempts) {
      const now = new Date(start.getTime() + days * DAY_MS);
      const request = await callback.prepare(deliveryRecord({ _id: newDeliveryId(new Date()), org, now }));
      await (request as CallbackRequest).attempted!(delivered, now);
    }
    return (await registrations.findForOrg(org))!;
  }

  /** Failed attempts, twice a day. */
  const failing = (from: number, to: number): [number, boolean][] =>
    Array.from({ length: 2 * (to - from) + 1 }, (_, n) => [from + n / 2, false]);

  test('five days with failed attempts only disable the webhook', async () => {
    const disabled = await afterAttempts(failing(0, 5), 5 * DAY_MS);
    expect(disabled).toMatchObject({
      disabled_at: new Date('2026-01-06T00:00:00Z'),
      disabled_reason: 'Every attempt since 2026-01-01T00:00:00.000Z has failed.',
    });
  });

  test.each<[string, [number, boolean][], number | null]>([
    ['with a successful attempt in between', [...failing(0, 4), [4.2, true], ...failing(5, 9)], 5 * DAY_MS],
    ['when the failures span less than five days', failing(0, 4.5), 5 * DAY_MS],
    ['when the operator has not enabled it', failing(0, 30), null],
    ['by two single failures six days apart', [[0, false], [6, false]], 5 * DAY_MS], // biome-ignore format: a timeline
    ['by failures of two days with a quiet time between them', [...failing(0, 1), ...failing(5, 7)], 5 * DAY_MS],
    ['by one delivery that is given up', [0, 0.01, 0.1, 0.4, 0.8, 1.2].map((day) => [day, false]), 1 * DAY_MS],
  ])('a webhook is not disabled %s', async (_name, attempts, limit) => {
    expect((await afterAttempts(attempts, limit)).disabled_at).toBeNull();
  });

  test('failures in quick succession are one failure', async () => {
    const burst = Array.from({ length: 20 }, (_, n): [number, boolean] => [n / 1000, false]);
    expect((await afterAttempts(burst, 5 * DAY_MS)).failing).toMatchObject({ since: start, count: 1 });
    expect((await afterAttempts([...burst, ...burst.map(([day]): [number, boolean] => [day + 1, false])], DAY_MS)).disabled_at).toBeNull(); // biome-ignore format: a timeline
  });

  test('is announced once for the attempts in progress, and not when the address was replaced meanwhile', async () => {
    const { _id: org, failing: since } = await afterAttempts(failing(0, 4), 5 * DAY_MS);
    const announced: string[] = [];
    const callback = createIndexingCallback({
      registrations,
      policy: INDEXING_DELIVERY_POLICY,
      disableAfterMs: 5 * DAY_MS,
      notices: { webhookDisabled: async (about) => void announced.push(about) },
      log: pino({ level: 'silent' }),
    });
    const now = new Date(start.getTime() + 5 * DAY_MS);
    const prepare = async () =>
      (await callback.prepare(deliveryRecord({ _id: newDeliveryId(now), org, now }))) as CallbackRequest;
    const attempts = [await prepare(), await prepare()];
    for (const { attempted } of attempts) await attempted!(false, now);
    expect(announced).toEqual([org]);
    const again = await registrations.register(org, 'https://example.net/', ['indexing.status_changed']);
    await registrations.recordFailing(again, since!);
    const late = await prepare();
    await registrations.register(org, 'https://example.org/', ['indexing.status_changed']);
    await late.attempted!(false, now);
    expect([announced, (await registrations.findForOrg(org))!.disabled_at]).toEqual([[org], null]);
  });

  test('an attempt at a replaced address does not count against the new address', async () => {
    const before = await afterAttempts([[0, false]], 5 * DAY_MS);
    const replaced = await registrations.register(before._id, 'https://example.org/', ['indexing.status_changed']);
    await registrations.recordFailing(before, before.failing!, { at: start, reason: 'too late' });
    expect((await registrations.findForOrg(replaced._id))!).toMatchObject({ disabled_at: null, failing: null });
  });
});
