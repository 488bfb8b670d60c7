import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { MongoNetworkError } from 'mongodb';
import { createLaneReader } from '../../activities/webhooks/lane-reader.js';
import { newDeliveryId } from '../../domain/ids.js';
import type { LaneFlags } from '../../domain/webhooks/lanes.js';
import { LANE_INDEX } from '../../storage/indexes.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { createLaneQueue } from '../../storage/webhooks/lane-queue.js';
import { createDeliveryHarness, type DeliveryHarness } from '../support/delivery-harness.js';
import { collectionsDuringTests, duringTests, receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { databaseBeside, sharedProduct } from '../support/product.js';
import { startReceiver } from '../support/receiver.js';
import { deliveryRecord } from '../support/records.js';

const LANE = 2;
const QUICK = 'quick';
const SLOW = 'slow';

// The activity of a lane over real records and a real receiver, without Temporal.
describe('a lane', () => {
  let release: () => void;
  const started: { id: string; dueInMs: number }[] = [];
  const running: { environment: MockActivityEnvironment; result: Promise<unknown> }[] = [];
  const collections = collectionsDuringTests(databaseBeside(sharedProduct().mongodbUri, 'lanes'));
  const harness = duringTests(() => createDeliveryHarness(collections));
  const receiver = receiverDuringTests();
  const hanging = receiverDuringTests();
  beforeAll(async () => {
    await harness.registrations.register(QUICK, receiver.url, ['indexing.status_changed'], 'a secret of 16 or more');
    await harness.registrations.register(SLOW, hanging.url, ['indexing.status_changed']);
  });
  beforeEach(async () => {
    await collections.deliveries.deleteMany({});
    receiver.received.length = 0;
    receiver.respond = () => ({ status: 204 });
    hanging.received.length = 0;
    started.length = 0;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    hanging.hold = () => held;
  });
  afterEach(async () => {
    release();
    for (const { environment, result } of running.splice(0)) {
      environment.cancel();
      await result;
    }
  });

  const create = (options: Parameters<DeliveryHarness['create']>[0] = {}) =>
    harness.create({
      // No attempt ends before the receiver releases it, however slow the machine is.
      timeoutMs: 300_000,
      starters: {
        continueDelivery: async ({ _id }, dueInMs) => {
          started.push({ id: _id, dueInMs });
        },
      },
      ...options,
    });

  /** Runs the lane until it has been empty for a while, or the test ends. */
  function run(sender = create()) {
    return runActivity(() => sender.activities.deliverLane({ lane: LANE }));
  }

  /** Runs the lane until the test ends: again when it was empty for a while, as in the product a new delivery wakes it. */
  function keepRunning(sender = create()): void {
    runActivity(async () => {
      for (;;) await sender.activities.deliverLane({ lane: LANE });
    });
  }

  function runActivity(activity: () => Promise<unknown>) {
    const environment = new MockActivityEnvironment();
    const result = environment.run(activity).catch((error) => error);
    running.push({ environment, result });
    return { environment, result };
  }

  async function add(org: string, count: number, fields: Partial<DeliveryRecord> = {}): Promise<string[]> {
    const records = Array.from({ length: count }, () => {
      const record = deliveryRecord({ _id: newDeliveryId(), org, now: new Date(), lane: LANE });
      return { ...record, ...fields };
    });
    await collections.deliveries.insertMany(records);
    return records.map(({ _id }) => _id);
  }
  const read = async (id: string): Promise<DeliveryRecord> => (await collections.deliveries.findOne({ _id: id }))!;
  const count = (org: string, status: DeliveryRecord['status']) =>
    collections.deliveries.countDocuments({ org, status });
  const reached = (id: string, status: DeliveryRecord['status']) =>
    eventually(`${status}`, async () => {
      const record = await read(id);
      return record.status === status ? record : undefined;
    });
  const delivered = (org: string, expected: number) =>
    eventually(`${expected} delivered`, async () => (await count(org, 'delivered')) === expected);

  test('delivers what waits in it, signed, and ends when it is empty', async () => {
    const ids = await add(QUICK, 120);
    expect(await run().result).toMatchObject({ delivered: 120, failed: 0, dueInMs: null });
    expect(new Set(receiver.received.map(({ json }) => json.delivery_id))).toEqual(new Set(ids));
    expect(receiver.received).toHaveLength(120);
    expect(receiver.received[0]!.headers['x-service-signature']).toMatch(/^sha256=/);
    const record = await read(ids[0]!);
    expect(record).toMatchObject({ status: 'delivered', attempts: 1, lane: LANE, next_attempt_at: null });
    expect(record.queue).toBeUndefined();
    expect(record.attempt_log).toMatchObject([{ status_code: 204, error: null }]);
  });

  test('shows each of the five states while it holds', async () => {
    const [id] = await add(SLOW, 1);
    expect(await read(id!)).toMatchObject({ status: 'pending', attempts: 0 });
    keepRunning();
    expect(await reached(id!, 'sweeping')).toMatchObject({ attempts: 1, lane: LANE });
    release();
    expect(await reached(id!, 'delivered')).toMatchObject({ attempts: 1 });
    receiver.respond = (_request, n) => ({ status: n === 1 ? 500 : 410 });
    const [failed] = await add(QUICK, 1);
    await reached(failed!, 'failed');
    const [gone] = await add(QUICK, 1);
    expect(await reached(gone!, 'permanently_failed')).toMatchObject({ error_code: 'HTTP_410', lane: LANE });
    expect(started.map(({ id }) => id)).toEqual([failed]);
  });

  test('serves other receivers while one hangs, and gives it no more than its share', async () => {
    await add(SLOW, 150);
    run();
    await eventually('attempts that hang', () => hanging.received.length >= 50);
    await add(QUICK, 120);
    await delivered(QUICK, 120);
    expect(hanging.received.length).toBeLessThanOrEqual(50);
    expect(await count(SLOW, 'sweeping')).toBe(hanging.received.length);
    expect(await count(SLOW, 'pending')).toBe(150 - hanging.received.length);
    release();
    await delivered(SLOW, 150);
    expect(hanging.received).toHaveLength(150);
  });

  /**
   * Runs a lane until attempts hang, adds deliveries of another receiver, and releases all when these are delivered.
   * @returns how many attempts hung until then
   */
  async function deliverBesideHanging({ hang, all }: { hang: number; all: number }): Promise<number> {
    run(create({ slots: { first: 10, all: 60 } }));
    await eventually('attempts that hang', () => hanging.received.length >= hang);
    await add(QUICK, 20);
    await delivered(QUICK, 20);
    const attempts = hanging.received.length;
    release();
    await eventually('all others', () => hanging.received.length === all);
    return attempts;
  }

  test('has places for a receiver while very many others hang', async () => {
    const orgs = Array.from({ length: 12 }, (_, n) => `hanging-${n}`);
    for (const org of orgs) {
      await harness.registrations.register(org, hanging.url, ['indexing.status_changed']);
      await add(org, 8);
    }
    expect(await deliverBesideHanging({ hang: 45, all: 96 })).toBeLessThan(60);
  });

  test('lets many receivers take turns', async () => {
    const orgs = Array.from({ length: 40 }, (_, n) => `turn-${n}`);
    for (const org of orgs) await harness.registrations.register(org, receiver.url, ['indexing.status_changed']);
    const quickIds = new Set(await add(QUICK, 400));
    for (const org of orgs) await add(org, 2);
    run();
    await eventually('everything', () => receiver.received.length === 480);
    const lastOfOthers = receiver.received.findLastIndex(({ json }) => !quickIds.has(String(json.delivery_id)));
    expect(lastOfOthers).toBeLessThan(400);
  });

  /** Adds deliveries of an organisation with many receivers, as those of callbacks are. */
  async function addForMany(org: string, receivers: number, each: number): Promise<void> {
    const records = Array.from({ length: receivers * each }, (_, n) => {
      const record = deliveryRecord({ _id: newDeliveryId(), org, now: new Date(), lane: LANE });
      const key = `${org}-${n % receivers}`;
      return { ...record, receiver: key, queue: { ...record.queue!, receiver: key } };
    });
    await collections.deliveries.insertMany(records);
  }

  test('lets organisations take turns, however many receivers each has', async () => {
    await harness.registrations.register('many', receiver.url, ['indexing.status_changed']);
    await addForMany('many', 40, 3);
    const quickIds = new Set(await add(QUICK, 20));
    run(create({ slots: { first: 4, all: 4 } }));
    await eventually('everything', () => receiver.received.length === 140);
    const last = receiver.received.findLastIndex(({ json }) => quickIds.has(String(json.delivery_id)));
    expect(last).toBeLessThan(80);
  });

  test('has places for an organisation while very many receivers of another hang', async () => {
    await harness.registrations.register('many', hanging.url, ['indexing.status_changed']);
    await addForMany('many', 120, 1);
    expect(await deliverBesideHanging({ hang: 25, all: 120 })).toBeLessThanOrEqual(30);
  });

  test('hands a delivery that failed over to its own workflow, which starts when the delivery is due', async () => {
    receiver.respond = (_request, n) =>
      n === 1 ? { status: 500 } : { status: 503, headers: { 'Retry-After': '600' } };
    const [first] = await add(QUICK, 1);
    keepRunning(create({ scheduleMs: [300_000] }));
    const failed = await reached(first!, 'failed');
    expect(failed).toMatchObject({ lane: null, failures: 1, attempts: 1 });
    expect(failed.queue).toBeUndefined();
    const [second] = await add(QUICK, 1);
    await reached(second!, 'failed');
    await eventually('both started', () => started.length === 2);
    const [scheduled, requested] = started.map(({ dueInMs }) => dueInMs);
    expect(scheduled).toBeGreaterThan(100_000);
    expect(scheduled).toBeLessThanOrEqual(300_000);
    expect(requested).toBeGreaterThan(400_000);
  });

  test('keeps failed deliveries when a thousand wait already, and attempts them when they are due', async () => {
    await add(QUICK, 1_000, { status: 'failed', lane: null, queue: undefined as never });
    receiver.respond = (_request, n) => ({ status: n === 1 ? 500 : 204 });
    const [id] = await add(QUICK, 1);
    run(create({ scheduleMs: [100, 100] }));
    const record = await reached(id!, 'delivered');
    expect(record).toMatchObject({ lane: LANE, attempts: 2, failures: 1 });
    expect(started).toEqual([]);
  });

  test('says when a delivery that stays in it is due', async () => {
    await add(QUICK, 1_000, { status: 'failed', lane: null, queue: undefined as never });
    receiver.respond = () => ({ status: 500 });
    const [id] = await add(QUICK, 1);
    const { dueInMs } = (await run(create({ scheduleMs: [600_000] })).result) as { dueInMs: number };
    expect(dueInMs).toBeGreaterThan(400_000);
    // A person who retries it does not wait for the lane.
    expect(await harness.clientDeliveries.requeue({ org: QUICK, events: ['indexing.status_changed'] }, id!)).toBe(true);
    const requeued = await read(id!);
    expect(requeued).toMatchObject({ status: 'pending', lane: null });
    expect(requeued.queue).toBeUndefined();
  });

  test('reads the registration after the claim, before the request', async () => {
    const org = 'rotated';
    await harness.registrations.register(org, receiver.url, ['indexing.status_changed'], 'the first secret of all');
    const [id] = await add(org, 1);
    const other = await startReceiver();
    await harness.registrations.register(org, other.url, ['indexing.status_changed'], 'the second secret of all');
    keepRunning();
    await reached(id!, 'delivered');
    expect(other.received).toHaveLength(1);
    expect(receiver.received).toHaveLength(0);
    await harness.registrations.remove(org);
    const [late] = await add(org, 1);
    expect(await reached(late!, 'permanently_failed')).toMatchObject({ error_code: 'WEBHOOK_NOT_FOUND', attempts: 0 });
    await other.close();
  });

  test('disables a webhook that fails for too long', async () => {
    const org = 'disabled';
    const registration = await harness.registrations.register(org, receiver.url, ['indexing.status_changed']);
    const since = new Date(Date.now() - 10 * 60 * 60 * 1000);
    await harness.registrations.recordFailing(registration, { since, latest: since, count: 9 });
    receiver.respond = () => ({ status: 500 });
    await add(org, 30);
    keepRunning(create({ disableAfterMs: 60 * 60 * 1000 }));
    await eventually('disabled', async () => (await harness.registrations.findForOrg(org))!.disabled_at);
    const [id] = await add(org, 1);
    expect(await reached(id!, 'permanently_failed')).toMatchObject({ error_code: 'WEBHOOK_DISABLED' });
  });

  test('does not report an outcome when its claim was taken over', async () => {
    const [id] = await add(SLOW, 1);
    const { result, environment } = run();
    await hanging.waitFor('the attempt', () => true);
    await collections.deliveries.updateOne({ _id: id! }, { $set: { claim: 'of another' } });
    environment.cancel();
    release();
    await result;
    expect(await read(id!)).toMatchObject({ status: 'sweeping', claim: 'of another', attempt_log: [] });
  });

  test('repeats the attempts of a process that was killed, when their claims expire', async () => {
    const expired = new Date(Date.now() - 1);
    const claim = { status: 'sweeping', attempts: 1, claim: 'of the dead', claimed_until: expired } as const;
    const [id] = await add(QUICK, 1, { ...claim, queue: { receiver: QUICK, due: expired } });
    const future = new Date(Date.now() + 3_600_000);
    const [held] = await add(QUICK, 1, { ...claim, claimed_until: future, queue: { receiver: QUICK, due: future } });
    run();
    expect(await reached(id!, 'delivered')).toMatchObject({ attempts: 2 });
    expect(await read(held!)).toMatchObject({ status: 'sweeping', claim: 'of the dead' });
  });

  test('leaves alone what was changed outside it, and what waits behind that', async () => {
    const past = new Date(Date.now() - 1);
    const future = new Date(Date.now() + 3_600_000);
    const queue = { receiver: QUICK, due: past };
    const [done] = await add(QUICK, 1, { status: 'delivered', attempts: 1, queue });
    const [held] = await add(QUICK, 1, { status: 'sweeping', claim: 'of another', claimed_until: future, queue });
    const [id] = await add(QUICK, 1);
    run(create({ slots: { first: 1, all: 1 } }));
    await reached(id!, 'delivered');
    expect(receiver.received).toHaveLength(1);
    expect((await read(done!)).queue).toBeUndefined();
    expect(await read(held!)).toMatchObject({ status: 'sweeping', claim: 'of another', queue: { due: future } });
  });

  test('goes on after errors of the database, with its attempts and their outcomes', async () => {
    let errors = 0;
    const failing = () => Promise.reject(new Error(`no primary, error ${++errors}`));
    const { heads } = harness.laneQueue;
    const sender = create({
      laneQueue: { heads: (lane) => (errors === 0 ? failing() : heads(lane)), countFailed: failing },
    });
    receiver.respond = (_request, n) => ({ status: n === 1 ? 500 : 204 });
    await add(QUICK, 4);
    expect(await run(sender).result).toMatchObject({ delivered: 3, failed: 1 });
    expect(errors).toBe(2);
    expect(await collections.deliveries.findOne({ status: 'failed' })).toMatchObject({ lane: null, attempts: 1 });
  });

  test('sends each delivery once, also when it runs in two processes', async () => {
    await add(QUICK, 300);
    run(create());
    run(create());
    await delivered(QUICK, 300);
    expect(receiver.received).toHaveLength(300);
  });

  test('that is cancelled finishes the attempts in progress, and claims nothing more', async () => {
    const [id] = await add(SLOW, 1);
    const { environment, result } = run();
    await hanging.waitFor('the attempt', () => true);
    environment.cancel();
    const [other] = await add(QUICK, 1);
    release();
    expect(await result).toMatchObject({ name: 'CancelledFailure' });
    expect(await read(id!)).toMatchObject({ status: 'delivered' });
    expect(await read(other!)).toMatchObject({ status: 'pending' });
  });

  test('whose process stops hands over at once; attempts that take too long give their claims back', async () => {
    const stopping = createDeliveryHarness(collections);
    const registered = await harness.registrations.findForOrg(SLOW);
    expect(registered).not.toBeNull();
    const [id] = await add(SLOW, 1);
    const woken: number[] = [];
    const sender = stopping.create({ starters: { startLane: async (lane) => void woken.push(lane) } });
    const { result } = run(sender);
    await hanging.waitFor('the attempt', () => true);
    sender.stopLanes();
    expect(await result).toMatchObject({ dueInMs: 0 });
    expect(await read(id!)).toMatchObject({ status: 'sweeping' });
    await Promise.all([stopping.close(), sender.drain()]);
    expect(await read(id!)).toMatchObject({ status: 'pending', lane: LANE, claimed_until: null });
    expect(woken).toEqual([LANE]);
    release();
    run();
    expect(await reached(id!, 'delivered')).toMatchObject({ attempts: 2 });
  });

  test('sees a delivery that was stored just before it lowered its flag', async () => {
    const { flags } = harness.lanes;
    const changes: string[] = [];
    const laneFlags: Partial<LaneFlags> = {
      async renew(lane) {
        changes.push('up');
        await flags.renew(lane);
      },
      async lower(lane) {
        await flags.lower(lane);
        if (!changes.includes('down')) await add(QUICK, 1);
        changes.push('down');
      },
    };
    expect(await run(create({ laneFlags })).result).toMatchObject({ delivered: 1 });
    expect(changes.filter((change, n) => change !== changes[n - 1])).toEqual(['up', 'down', 'up', 'down']);
  });

  test('has a flag that falls when nobody renews it, so that the next delivery starts a lane that was lost', async () => {
    const { flags } = harness.lanes;
    const lane = 77;
    const until = async () => (await collections.lanes.findOne({ _id: lane }))!.awake_until;
    expect(await flags.raise(lane)).toBe(false);
    const first = await until();
    expect(await flags.raise(lane)).toBe(true);
    expect(await until()).toEqual(first);
    await collections.lanes.updateOne({ _id: lane }, { $set: { awake_until: new Date(Date.now() - 1) } });
    expect(await flags.raise(lane)).toBe(false);
    await flags.renew(lane);
    expect((await until())!.getTime()).toBeGreaterThan(first!.getTime());
  });

  test('does not send what its claim would not outlive', async () => {
    let late = 0;
    const [id] = await add(QUICK, 1);
    // The second look at the clock after the claim is 20 seconds later.
    const sender = create({
      now: async () => {
        const { status } = await read(id!);
        return new Date(Date.now() + (status === 'sweeping' && late++ === 1 ? 20_000 : 0));
      },
    });
    run(sender);
    expect(await reached(id!, 'delivered')).toMatchObject({ attempts: 1 });
    expect(late).toBeGreaterThan(2);
    expect(receiver.received).toHaveLength(1);
  });

  test('gives a claim back when MongoDB fails before the request', async () => {
    let failures = 0;
    let primary = false;
    const [id] = await add(QUICK, 1);
    const sender = create({
      registrations: {
        findForOrg: async (org) => {
          if (primary) return harness.registrations.findForOrg(org);
          failures += 1;
          throw new MongoNetworkError('connection closed');
        },
      },
    });
    run(sender);
    const given = await eventually('the claim given back', async () => {
      const record = await read(id!);
      return failures > 0 && record.status === 'pending' && record;
    });
    expect(given).toMatchObject({ attempts: 0, claimed_until: null, lane: LANE });
    primary = true;
    expect(await reached(id!, 'delivered')).toMatchObject({ attempts: 1 });
    expect(receiver.received).toHaveLength(1);
  });

  test('reads the deliveries of several claims at a time', async () => {
    await add(QUICK, 45);
    const queries: string[] = [];
    const { heads, listDue, read } = harness.laneQueue;
    const reader = createLaneReader(
      {
        heads: (...query) => heads(...query).finally(() => queries.push('heads')),
        listDue: (...query) => listDue(...query).finally(() => queries.push('listDue')),
        read,
      },
      LANE,
      () => 0,
    );
    const now = new Date();
    const takeTen = async () => {
      expect(await reader.heads(now)).toMatchObject([{ receiver: QUICK }]);
      return reader.take(QUICK, 10, now);
    };
    const claims = [await takeTen(), await takeTen(), await takeTen(), await takeTen()];
    const ids = claims.flatMap(({ taken }) => taken.map(({ _id }) => _id));
    expect(new Set(ids).size).toBe(40);
    expect(claims.every(({ more }) => more)).toBe(true);
    expect(queries).toEqual(['heads', 'listDue']);
    await collections.deliveries.deleteMany({ _id: { $in: ids } });
    expect(await takeTen()).toMatchObject({ taken: { length: 5 }, more: false });
    expect(queries).toEqual(['heads', 'listDue', 'heads', 'listDue']);
  });

  test('stores with each delivery the outcome of its own attempt, however many it stores together', async () => {
    const ids = await add(QUICK, 60);
    receiver.respond = (request) => ({ status: 200, body: `for ${request.json.delivery_id}` });
    keepRunning();
    await delivered(QUICK, 60);
    for (const record of await collections.deliveries.find({ _id: { $in: ids } }).toArray()) {
      expect(record).toMatchObject({ attempts: 1, error_code: null, next_attempt_at: null, claimed_until: null });
      expect(record).toMatchObject({ url: receiver.url, expires_at: expect.any(Date) });
      expect(record).not.toHaveProperty('queue');
      expect(record.attempt_log).toMatchObject([{ status_code: 200, answer: `for ${record._id}` }]);
    }
  });

  test('stores no outcome of a claim that was taken over, among others of the same claim', async () => {
    await add(QUICK, 3);
    const now = new Date();
    const waiting = await harness.laneQueue.listDue(LANE, QUICK, now, 10);
    const claimed = await harness.laneQueue.claim(LANE, waiting, now, 60_000);
    const [first, taken, last] = claimed.map(({ _id }) => _id);
    await collections.deliveries.updateOne({ _id: taken! }, { $set: { claim: 'of another' } });
    const outcomes = claimed.map((delivery, n) => ({
      claimed: delivery,
      stays: false,
      recorded: {
        status: 'delivered' as const,
        sent: true,
        url: '$not a field of the record',
        entry: { at: now, status_code: 204, duration_ms: n, error: null, answer: '$status' },
        next_attempt_at: null,
        error_code: null,
        error_message: null,
      },
    }));
    const stored = await harness.laneQueue.record(outcomes, now);
    expect(stored.map((outcome) => outcome.claimed._id)).toEqual([first, last]);
    expect(await read(taken!)).toMatchObject({ status: 'sweeping', claim: 'of another', attempt_log: [] });
    expect(await read(last!)).toMatchObject({
      status: 'delivered',
      url: '$not a field of the record',
      attempt_log: [{ duration_ms: 2, answer: '$status' }],
    });
  });

  test('claims nothing that has changed since it was read', async () => {
    const [changed, same] = await add(QUICK, 2);
    const now = new Date();
    const read = await harness.laneQueue.listDue(LANE, QUICK, now, 10);
    const later = new Date(now.getTime() + 60_000);
    await collections.deliveries.updateOne({ _id: changed! }, { $set: { failures: 1, updated_at: later } });
    const claimed = await harness.laneQueue.claim(LANE, read, now, 60_000);
    expect(claimed).toMatchObject([{ _id: same, status: 'sweeping', attempts: 1 }]);
    const pending = await collections.deliveries.findOne({ _id: changed! });
    expect(pending).toMatchObject({ status: 'pending', failures: 1, queue: { receiver: QUICK } });
  });

  test('finds the next delivery of each receiver with one key of the index, however many wait', async () => {
    await add(QUICK, 500);
    await add(SLOW, 500);
    const queue = createLaneQueue(collections);
    expect((await queue.heads(LANE)).map(({ receiver }) => receiver).sort()).toEqual([QUICK, SLOW]);
    const plan = await collections.deliveries
      .aggregate(queue.headsQuery(LANE), { hint: LANE_INDEX })
      .explain('executionStats');
    expect(JSON.stringify(plan)).toContain('DISTINCT_SCAN');
    expect(JSON.stringify(plan)).not.toContain('FETCH');
  });
});
