import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createAiJobCallback } from '../../activities/ai-jobs/job-callback.js';
import { AttemptNotSent, createAttempt } from '../../activities/webhooks/attempt.js';
import { parseAllowedCidrs } from '../../domain/address-rules.js';
import { newDeliveryId } from '../../domain/ids.js';
import { createSealer } from '../../domain/sealing.js';
import { CALLBACK_DELIVERY_POLICY } from '../../domain/webhooks/delivery-policy.js';
import { createOutboundClient } from '../../providers/outbound/guarded-client.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { pendingDelivery } from '../../storage/webhooks/new-delivery.js';
import { createHeaderSealing } from '../../storage/webhooks/static-headers.js';
import { createDeliveryHarness } from '../support/delivery-harness.js';
import { collectionsDuringTests, duringTests, receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { databaseBeside, sharedProduct } from '../support/product.js';
import { aiJobRecord } from '../support/records.js';

const LARGE = JSON.stringify({ text: 'word '.repeat(300_000) });
const SMALL = JSON.stringify({ text: 'word' });
/** Longer than an attempt waits for its turn. */
const LONG_MS = 60_000;

describe('the callbacks of jobs with large results', () => {
  const collections = collectionsDuringTests(databaseBeside(sharedProduct().mongodbUri, 'large-callbacks'));
  const harness = duringTests(() => createDeliveryHarness(collections));
  const outbound = duringTests(() => createOutboundClient({ allowedCidrs: parseAllowedCidrs('127.0.0.0/8') }));
  const hanging = receiverDuringTests();
  const healthy = receiverDuringTests();
  let inProgress = 0;
  let most = 0;
  let recover: () => void;

  beforeEach(() => {
    hanging.received.length = 0;
    most = 0;
    const recovered = new Promise<void>((resolve) => {
      recover = resolve;
    });
    hanging.hold = async () => {
      inProgress += 1;
      most = Math.max(most, inProgress);
      await recovered;
      inProgress -= 1;
    };
  });

  /** A job that has succeeded. @returns its delivery, which is not stored */
  async function delivery(org: string, url: string, output: string, signing_key?: string): Promise<DeliveryRecord> {
    const now = new Date();
    const job = aiJobRecord({
      org,
      webhook_receiver: url,
      signing_key: signing_key ?? (await harness.signingKeys.currentId(org)),
      now,
    });
    await harness.aiJobs.add({ ...job, status: 'success', finished_at: now });
    await harness.aiJobs.saveResult(org, job._id, { output, original: null });
    const event_type = 'async_job_completed';
    const ids = { _id: newDeliveryId(now), dedupe_key: `ai-job/${job._id}`, doc_id: job._id };
    return pendingDelivery({ ...ids, org, url, event_type, now }, false);
  }
  async function deliveries(count: number, ...of: Parameters<typeof delivery>): Promise<DeliveryRecord[]> {
    const made: DeliveryRecord[] = [];
    while (made.length < count) made.push(await delivery(...of));
    return made;
  }

  test('of one organisation are sent two at a time, and hold up neither small ones nor those of others', async () => {
    await collections.deliveries.insertMany(await deliveries(30, 'large', hanging.url, LARGE));
    harness.create({});
    await eventually('two requests', () => hanging.received.length >= 2);
    const others = [
      await delivery('large', healthy.url, SMALL),
      await delivery('other', healthy.url, SMALL),
      await delivery('other', healthy.url, LARGE),
    ];
    await collections.deliveries.insertMany(others);
    for (const { doc_id } of others) await healthy.waitFor('a callback', ({ json }) => json.job_id === doc_id);
    expect(most).toBe(2);
    recover();
    await eventually('all are delivered', async () => {
      return (await collections.deliveries.countDocuments({ org: 'large', status: 'delivered' })) === 31;
    });
    expect(most).toBe(2);
    await harness.stop();
  });

  test('are not sent when they get no turn, and each attempt gives its turn back', async () => {
    const { aiJobs, signingKeys } = harness;
    const jobHeaders = createHeaderSealing(createSealer(randomBytes(32).toString('base64')), 'job-headers');
    const callback = createAiJobCallback(
      { aiJobs, signingKeys, jobHeaders },
      { ...CALLBACK_DELIVERY_POLICY, timeoutMs: LONG_MS },
    );
    const log = pino({ level: 'silent' });
    const send = createAttempt({ outbound, log, random: () => 0.5, now: () => new Date() });
    const attempt = (claimed: DeliveryRecord, claimMs = 2 * LONG_MS) =>
      send({ ...claimed, next_attempt_at: new Date(Date.now() + claimMs) }, callback);

    const ofOne = await deliveries(2, 'turns', hanging.url, LARGE);
    const all = [...ofOne, ...(await deliveries(2, 'turns-too', hanging.url, LARGE))].map((each) => attempt(each));
    const third = await delivery('turns', hanging.url, LARGE);
    const fifth = await delivery('turns-as-well', hanging.url, LARGE);
    await eventually('four requests', () => hanging.received.length === 4);
    for (const each of [third, fifth]) await expect(attempt(each)).rejects.toThrow(AttemptNotSent);
    expect(hanging.received).toHaveLength(4);
    recover();
    for (const { recorded } of await Promise.all(all)) expect(recorded.status).toBe('delivered');

    for (const each of await deliveries(4, 'turns', hanging.url, LARGE, 'sig_lost'))
      expect((await attempt(each)).recorded.error_code).toBe('INTERNAL_ERROR');
    for (let n = 0; n < 4; n += 1) await expect(attempt(third, 0)).rejects.toThrow('would not outlive');
    for (const each of [third, fifth]) expect((await attempt(each)).recorded.status).toBe('delivered');
    expect(hanging.received).toHaveLength(6);
  });
});
