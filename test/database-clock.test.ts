import { afterEach, describe, expect, test } from '@jest/globals';
import { createSealer } from '../domain/sealing.js';
import { DAY_MS } from '../domain/webhooks/delivery-policy.js';
import { createExpiredUploads } from '../storage/ai-jobs/expired-uploads.js';
import { createSigningKeys } from '../storage/ai-jobs/signing-keys.js';
import { createUploads } from '../storage/ai-jobs/uploads.js';
import { createApiKeys } from '../storage/api-keys.js';
import { createCrewSigningSecrets } from '../storage/crews/signing-secrets.js';
import { createIdempotencyKeys } from '../storage/idempotency-keys.js';
import { createCompletionGroups } from '../storage/webhooks/completion-groups.js';
import { createDeliveries } from '../storage/webhooks/deliveries.js';
import { collectionsDuringTests } from './support/during-tests.js';
import { databaseBeside, sharedProduct } from './support/product.js';

const HOUR_MS = 3_600_000;
const ProcessDate = Date;

/** Sets the clock of this process. Timers, and the clock that only counts on, stay right, as on a real machine. */
function shiftClock(ms: number): void {
  globalThis.Date = class extends ProcessDate {
    constructor(...args: [] | [number]) {
      super(...((args.length === 0 ? [ProcessDate.now() + ms] : args) as [number]));
    }
    static override now(): number {
      return ProcessDate.now() + ms;
    }
  } as DateConstructor;
}

describe('a process whose clock is wrong', () => {
  const collections = collectionsDuringTests(databaseBeside(sharedProduct().mongodbUri, 'clock'));
  afterEach(() => {
    globalThis.Date = ProcessDate;
  });

  test('has the time of the database', async () => {
    const before = (await collections.db.command({ hello: 1 })).localTime as Date;
    shiftClock(-HOUR_MS);
    expect(Math.abs(collections.now().getTime() - before.getTime())).toBeLessThan(HOUR_MS / 2);
  });

  test('does not take over a claim on an Idempotency-Key that is valid', async () => {
    const sealer = createSealer(Buffer.alloc(32, 1).toString('base64'));
    const keys = createIdempotencyKeys(collections, sealer, { ttlMs: HOUR_MS / 2 });
    const scope = { org: 'clock', route: 'POST /query', key: 'once' };
    expect(await keys.claim(scope, 'print')).toMatchObject({ state: 'claimed' });
    shiftClock(HOUR_MS);
    expect(await keys.claim(scope, 'print')).toEqual({ state: 'in progress' });
  });

  test('signs with a secret that was replaced a short time ago', async () => {
    const sealer = createSealer(Buffer.alloc(32, 1).toString('base64'));
    const secrets = createCrewSigningSecrets(collections, sealer);
    await secrets.set('clock', 'whsec_before');
    await secrets.set('clock', 'whsec_after');
    shiftClock(2 * DAY_MS);
    expect(await secrets.listOpen('clock')).toEqual(['whsec_after', 'whsec_before']);
  });

  test('publishes an RSA key that was retired a short time ago', async () => {
    const keys = createSigningKeys(collections, createSealer(Buffer.alloc(32, 1).toString('base64')));
    const retired = await keys.currentId('clock');
    await keys.rotate('clock');
    shiftClock(2 * DAY_MS);
    expect(await keys.findPublicKey('clock', retired)).not.toBeNull();
  });

  test('does not end an upload that others may use', async () => {
    const uploads = createUploads(collections);
    const created_at = collections.now();
    const upload = { _id: 'fil_clock', org: 'clock', filename: 'a.txt', size: 1, mime_type: 'text/plain', created_at };
    await uploads.add({ ...upload, expires_at: new Date(created_at.getTime() + HOUR_MS / 2) });
    shiftClock(HOUR_MS);
    expect(await uploads.findForOrg('clock', 'fil_clock')).toMatchObject(upload);
    expect(await createExpiredUploads(collections).list(10)).toEqual([]);
  });

  test('accepts an API key until it has expired', async () => {
    const keys = createApiKeys(collections);
    const expires_at = new Date(collections.now().getTime() + HOUR_MS / 2);
    const { key } = await keys.create({ org: 'clock', kind: 'api', label: 'clock', expires_at });
    shiftClock(HOUR_MS);
    expect(await keys.authenticate(key)).toMatchObject({ org: 'clock' });
  });

  test('completes work at the time of the database: its delivery is due, and a review of a crew begins', async () => {
    const commit = createCompletionGroups({ ...collections, deliveries: createDeliveries(collections) });
    const before = collections.now();
    shiftClock(HOUR_MS);
    let completedAt = new Date();
    await commit('clock', async (_, now) => {
      completedAt = now;
      return null;
    });
    expect(Math.abs(completedAt.getTime() - before.getTime())).toBeLessThan(HOUR_MS / 2);
  });
});
