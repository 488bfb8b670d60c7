import type { Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { MongoNetworkError } from 'mongodb';
import { createReceiverRates } from '../../activities/webhooks/receiver-rates.js';
import type { Sender } from '../../activities/webhooks/sender.js';
import { newDeliveryId } from '../../domain/ids.js';
import { signatureHeader } from '../../domain/webhooks/headers.js';
import { QUEUE_INDEX } from '../../storage/indexes.js';
import { createProcesses } from '../../storage/processes.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { HEADS } from '../../storage/webhooks/delivery-queue.js';
import { createDeliveryHarness, type DeliveryHarness } from '../support/delivery-harness.js';
import { collectionsDuringTests, duringTests, receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { closeServer, listen } from '../support/loopback.js';
import { databaseBeside, sharedProduct } from '../support/product.js';
import { startReceiver } from '../support/receiver.js';
import { deliveryRecord } from '../support/records.js';
import { selfSigned } from '../support/self-signed.js';

const QUICK = 'quick';
const SLOW = 'slow';

/** Names of receivers, with their addresses. No other name resolves. */
const ADDRESSES: Record<string, string> = { 'receiver.example': '127.0.0.1', 'internal.example': '10.0.0.1' };
async function lookup(name: string): Promise<string[]> {
  const address = ADDRESSES[name];
  if (address === undefined) throw Object.assign(new Error(`queryA ENOTFOUND ${name}`), { code: 'ENOTFOUND' });
  return [address];
}

// The sender over real records and a real receiver, without Temporal.
describe('the sender', () => {
  let release: () => void;
  const started: { id: string; dueInMs: number }[] = [];
  const backlogs: string[] = [];
  const running: Sender[] = [];
  const collections = collectionsDuringTests(databaseBeside(sharedProduct().mongodbUri, 'sender'));
  const harness = duringTests(() => createDeliveryHarness(collections, lookup));
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
    backlogs.length = 0;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    hanging.hold = () => held;
  });
  afterEach(async () => {
    release();
    await Promise.all(running.splice(0).map((sender) => sender.stop()));
  });

  /** Starts a sender, which runs until the test ends. */
  const run = (options: Parameters<DeliveryHarness['create']>[0] = {}): Sender => {
    const { sender } = harness.create({
      // No attempt ends before the receiver releases it, however slow the machine is.
      timeoutMs: 300_000,
      starters: {
        continueDelivery: async ({ _id }, dueInMs) => {
          started.push({ id: _id, dueInMs });
        },
        startBacklog: async ({ org }) => void backlogs.push(org),
      },
      ...options,
    });
    running.push(sender);
    return sender;
  };

  async function add(org: string, count: number, fields: Partial<DeliveryRecord> = {}): Promise<string[]> {
    const records = Array.from({ length: count }, () => {
      const record = deliveryRecord({ _id: newDeliveryId(new Date()), org, now: new Date(), has_workflow: false });
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

  test('delivers what is due, signed', async () => {
    const ids = await add(QUICK, 120);
    run();
    await delivered(QUICK, 120);
    expect(new Set(receiver.received.map(({ json }) => json.delivery_id))).toEqual(new Set(ids));
    expect(receiver.received).toHaveLength(120);
    expect(receiver.received[0]!.headers['x-service-signature']).toMatch(/^sha256=/);
    const record = await read(ids[0]!);
    expect(record).toMatchObject({ status: 'delivered', attempts: 1, has_workflow: false, next_attempt_at: null });
    expect(record.attempt_log).toMatchObject([{ status_code: 204, error: null }]);
  });

  test('shows each of the five states while it holds', async () => {
    const [id] = await add(SLOW, 1);
    expect(await read(id!)).toMatchObject({ status: 'pending', attempts: 0 });
    // The one that fails stays so, however slow the machine is.
    run({ scheduleMs: [600_000] });
    expect(await reached(id!, 'sweeping')).toMatchObject({ attempts: 1 });
    release();
    expect(await reached(id!, 'delivered')).toMatchObject({ attempts: 1 });
    receiver.respond = (_request, n) => ({ status: n === 1 ? 500 : 410 });
    const [failed] = await add(QUICK, 1);
    await reached(failed!, 'failed');
    const [gone] = await add(QUICK, 1);
    expect(await reached(gone!, 'permanently_failed')).toMatchObject({ error_code: 'HTTP_410', has_workflow: true });
    // Operators find each failed delivery by its workflow.
    await eventually('their workflows', () => started.length === 2);
    expect(started).toMatchObject([{ id: failed }, { id: gone, dueInMs: 0 }]);
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
   * Sends until attempts hang, adds deliveries of another receiver, and releases all when these are delivered.
   * @returns how many attempts hung until then
   */
  async function deliverBesideHanging({ hang, all }: { hang: number; all: number }): Promise<number> {
    run({ places: 60 });
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
      const record = deliveryRecord({ _id: newDeliveryId(new Date()), org, now: new Date() });
      return { ...record, receiver: `${org}-${n % receivers}` };
    });
    await collections.deliveries.insertMany(records);
  }

  test('lets organisations take turns, however many receivers each has', async () => {
    await harness.registrations.register('many', receiver.url, ['indexing.status_changed']);
    await addForMany('many', 40, 3);
    const quickIds = new Set(await add(QUICK, 20));
    run({ places: 4 });
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
    run({ scheduleMs: [300_000] });
    const failed = await reached(first!, 'failed');
    expect(failed).toMatchObject({ has_workflow: true, failures: 1, attempts: 1 });
    expect(failed.check_at).toEqual(failed.next_attempt_at);
    const [second] = await add(QUICK, 1);
    await reached(second!, 'failed');
    await eventually('both started', () => started.length === 2);
    const [scheduled, requested] = started.map(({ dueInMs }) => dueInMs);
    expect(scheduled).toBeGreaterThan(100_000);
    expect(scheduled).toBeLessThanOrEqual(300_000);
    expect(requested).toBeGreaterThan(400_000);
  });

  /** Failed deliveries, each with a workflow that waits. */
  const addFailed = (count: number) =>
    add(QUICK, count, { status: 'failed', has_workflow: true, next_attempt_at: new Date(Date.now() + 3_600_000) });

  test('attempts failed deliveries when they are due, without workflows of their own when a thousand have one', async () => {
    await addFailed(1_000);
    receiver.respond = (_request, n) => ({ status: n === 1 ? 500 : 204 });
    const [id] = await add(QUICK, 1);
    run({ scheduleMs: [100, 100] });
    expect(await reached(id!, 'delivered')).toMatchObject({ has_workflow: false, attempts: 2, failures: 1 });
    expect([started, backlogs]).toEqual([[], [QUICK]]);
  });

  test('ends the workflow of a delivery that is one of too many failed ones, until a person retries it', async () => {
    await addFailed(1_000);
    receiver.respond = () => ({ status: 500 });
    const [id] = await add(QUICK, 1, { has_workflow: true });
    const { sender, activities } = harness.create({ scheduleMs: [600_000] });
    running.push(sender);
    // Not `deliverAtOnce`, which answers after two seconds in any case.
    expect(await activities.followDelivery({ delivery: id!, org: QUICK })).toBe('in_backlog');
    expect(await activities.countBacklog({ org: QUICK, event_type: 'indexing.status_changed' })).toBe(1);
    expect(await harness.clientDeliveries.requeue({ org: QUICK, events: ['indexing.status_changed'] }, id!)).toBe(true);
    expect(await read(id!)).toMatchObject({ status: 'pending', has_workflow: true });
  });

  test('does not exceed the rate of a receiver, and does not hold back others', async () => {
    const org = 'limited';
    const limited = await startReceiver();
    await harness.registrations.register(org, limited.url, ['indexing.status_changed']);
    await add(org, 12);
    await add(QUICK, 50);
    // The next attempt may start in days.
    run({ receiverRates: { refresh: async () => undefined, of: (receiver) => (receiver === org ? 1e-6 : undefined) } });
    await delivered(QUICK, 50);
    await delivered(org, 1);
    expect(await count(org, 'pending')).toBe(11);
    await limited.close();
  });

  test('shares the rate of a receiver among the processes that send', async () => {
    const org = 'rated';
    const processes = createProcesses(collections);
    const register = (max_per_second?: number) =>
      harness.registrations.register(org, receiver.url, ['indexing.status_changed'], undefined, { max_per_second });
    await register(9);
    for (const _id of ['one', 'two', 'three']) await processes.seen({ _id, role: 'worker', queues: ['deliveries'] });
    await processes.seen({ _id: 'other', role: 'worker', queues: ['content'] });
    let now = 0;
    const rates = createReceiverRates({ registrations: harness.registrations, processes }, () => now);
    await rates.refresh();
    expect([rates.of(org), rates.of(QUICK)]).toEqual([3, undefined]);
    await register();
    now = 10_000;
    await rates.refresh();
    expect(rates.of(org)).toBeUndefined();
  });

  test('gives the operator one signed notice for each receiver and period, with a count', async () => {
    const operator = await startReceiver();
    const secret = 'a secret of the operator';
    const [gone, sustained] = ['notices-gone', 'notices-sustained'];
    receiver.respond = ({ path }) => ({ status: path.endsWith('gone') ? 410 : 500 });
    await harness.registrations.register(gone, `${receiver.url}/gone`, ['indexing.status_changed']);
    const failing = await harness.registrations.register(sustained, receiver.url, ['indexing.status_changed']);
    const since = new Date(Date.now() - 10 * 60 * 60 * 1000);
    await harness.registrations.recordFailing(failing, { since, latest: since, count: 9 });
    const failed = await add(gone, 30);
    await add(sustained, 1);
    // The period ends when the test says so.
    run({ operator: { url: operator.url, secret, periodMs: 1e11 }, disableAfterMs: 60 * 60 * 1000 });
    const notices = () => collections.deliveries.find({ event_type: 'operator.notice' }).sort({ doc_id: 1 }).toArray();
    await eventually('both notices', async () => {
      const [first, second] = await notices();
      return first?.notice?.count === 30 && second !== undefined;
    });
    expect(await notices()).toMatchObject([
      { doc_id: gone, status: 'pending', next_attempt_at: new Date(Math.ceil(Date.now() / 1e11) * 1e11) },
      { doc_id: sustained, notice: { kind: 'webhook_disabled', count: 1 } },
    ]);
    expect(operator.received).toEqual([]);
    await collections.deliveries.updateMany(
      { event_type: 'operator.notice' },
      { $set: { next_attempt_at: new Date() } },
    );
    const kindOf = ({ json }: { json: Record<string, unknown> }) => json.kind;
    const request = await operator.waitFor('the notice', (each) => kindOf(each) === 'delivery_failed');
    expect(request.json).toEqual({
      event: 'operator.notice',
      delivery_id: request.headers['webhook-id'],
      kind: 'delivery_failed',
      organisation: gone,
      count: 30,
      since: expect.any(String),
      reason: 'The receiver responded with status 410, so no more attempts are made.',
      latest: { delivery_id: expect.any(String), event_type: 'indexing.status_changed', error_code: 'HTTP_410' },
    });
    expect(failed).toContain((request.json.latest as { delivery_id: string }).delivery_id);
    expect(request.headers['x-service-signature']).toBe(signatureHeader(request.body, secret));
    await operator.waitFor('the other notice', (each) => kindOf(each) === 'webhook_disabled');
    await operator.close();
  });

  test('makes no notice of a notice that cannot be delivered', async () => {
    receiver.respond = () => ({ status: 410 });
    const operator = { url: receiver.url, secret: 'a secret of the operator', periodMs: 1 };
    await harness.registrations.register('notices-lost', receiver.url, ['indexing.status_changed']);
    await add('notices-lost', 1);
    run({ operator });
    const lost = await eventually('the lost notice', () =>
      collections.deliveries.findOne({ event_type: 'operator.notice', status: 'permanently_failed' }),
    );
    expect(lost.doc_id).toBe('notices-lost');
    expect(await collections.deliveries.countDocuments({ event_type: 'operator.notice' })).toBe(1);
  });

  describe('retries a receiver', () => {
    const untrusted = duringTests(
      async () => {
        const server = createHttpsServer(selfSigned('receiver.example'));
        await listen(server);
        return server;
      },
      (server) => closeServer(server),
    );
    const portOf = (server: Server) => (server.address() as AddressInfo).port;
    const closedPort = async () => {
      const { url, close } = await startReceiver();
      await close();
      return new URL(url).port;
    };

    test.each<[string, string, () => Promise<string> | string]>([
      ['whose name does not resolve', 'ENOTFOUND', () => 'https://gone.example/'],
      ['whose name resolves to a blocked address', 'EBLOCKED', () => 'https://internal.example/'],
      ['that refuses the connection', 'ECONNREFUSED', async () => `http://127.0.0.1:${await closedPort()}/`],
      [
        'whose certificate is not valid',
        'DEPTH_ZERO_SELF_SIGNED_CERT',
        () => `https://receiver.example:${portOf(untrusted)}/`,
      ],
      ['that does not speak TLS', 'ERR_SSL_WRONG_VERSION_NUMBER', () => receiver.url.replace('http:', 'https:')],
      ['that ends the connection', 'ECONNRESET', () => `http://127.0.0.1:${portOf(untrusted)}/`],
    ])('%s', async (_what, error_code, urlOf) => {
      const org = `retried-${error_code}`;
      await harness.registrations.register(org, await urlOf(), ['indexing.status_changed']);
      run({ scheduleMs: [0, 0] });
      const [id] = await add(org, 1);
      expect(await reached(id!, 'permanently_failed')).toMatchObject({ attempts: 3, error_code });
    });
  });

  test('reads the registration after the claim, before the request', async () => {
    const org = 'rotated';
    await harness.registrations.register(org, receiver.url, ['indexing.status_changed'], 'the first secret of all');
    const [id] = await add(org, 1);
    const other = await startReceiver();
    await harness.registrations.register(org, other.url, ['indexing.status_changed'], 'the second secret of all');
    run();
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
    run({ disableAfterMs: 60 * 60 * 1000 });
    await eventually('disabled', async () => (await harness.registrations.findForOrg(org))!.disabled_at);
    const [id] = await add(org, 1);
    expect(await reached(id!, 'permanently_failed')).toMatchObject({ error_code: 'WEBHOOK_DISABLED' });
  });

  test('stores no outcome when its claim was taken over', async () => {
    const [id] = await add(SLOW, 1);
    const sender = run();
    await hanging.waitFor('the attempt', () => true);
    await collections.deliveries.updateOne({ _id: id! }, { $set: { claim: 'of another' } });
    release();
    await sender.stop();
    expect(await read(id!)).toMatchObject({ status: 'sweeping', claim: 'of another', attempt_log: [] });
  });

  test('repeats the attempts of a process that was killed, when their claims expire', async () => {
    const claim = { status: 'sweeping', attempts: 1, claim: 'of the dead' } as const;
    const [id] = await add(QUICK, 1, { ...claim, next_attempt_at: new Date(Date.now() - 1) });
    const [held] = await add(QUICK, 1, { ...claim, next_attempt_at: new Date(Date.now() + 3_600_000) });
    run();
    expect(await reached(id!, 'delivered')).toMatchObject({ attempts: 2 });
    expect(await read(held!)).toMatchObject({ status: 'sweeping', claim: 'of the dead' });
  });

  test('goes on after errors of the database, with its attempts and their outcomes', async () => {
    let errors = 0;
    const failing = () => Promise.reject(new Error(`no primary, error ${++errors}`));
    const { heads } = harness.deliveryQueue;
    receiver.respond = (_request, n) => ({ status: n === 1 ? 500 : 204 });
    await add(QUICK, 4);
    run({
      scheduleMs: [600_000],
      deliveryQueue: { heads: () => (errors === 0 ? failing() : heads()) },
      deliveries: { countFailed: failing },
    });
    await delivered(QUICK, 3);
    const failed = await eventually('the failed one', () => collections.deliveries.findOne({ status: 'failed' }));
    expect(failed).toMatchObject({ has_workflow: true, attempts: 1 });
    expect(errors).toBe(2);
  });

  test('sends each delivery once, also when it runs in two processes', async () => {
    await add(QUICK, 300);
    run();
    run();
    await delivered(QUICK, 300);
    expect(receiver.received).toHaveLength(300);
  });

  test('that stops finishes the attempts in progress, and claims nothing more', async () => {
    const [id] = await add(SLOW, 1);
    const sender = run();
    await hanging.waitFor('the attempt', () => true);
    const stopped = sender.stop();
    const [other] = await add(QUICK, 1);
    release();
    await stopped;
    expect(await read(id!)).toMatchObject({ status: 'delivered' });
    expect(await read(other!)).toMatchObject({ status: 'pending' });
  });

  test('gives the claims of attempts back that take too long when it stops', async () => {
    const stopping = createDeliveryHarness(collections);
    const [id] = await add(SLOW, 1);
    stopping.create({ timeoutMs: 300_000 });
    await hanging.waitFor('the attempt', () => true);
    await stopping.close();
    expect(await read(id!)).toMatchObject({ status: 'pending', attempts: 1 });
    release();
    run();
    expect(await reached(id!, 'delivered')).toMatchObject({ attempts: 2 });
  });

  test('gives back what it does not know, and goes on', async () => {
    const [later] = await add(QUICK, 1, { event_type: 'of.a.later.release' as never });
    run();
    const given = await eventually('the claim given back', async () => {
      const record = await read(later!);
      return record.claim !== undefined && record.status === 'pending' && record;
    });
    expect(given).toMatchObject({ attempts: 0 });
    await add(QUICK, 60);
    await delivered(QUICK, 60);
  });

  test('says nothing was started when a delivery is not due, and answers for one that does not exist', async () => {
    const [id] = await add(QUICK, 1, { next_attempt_at: new Date(Date.now() + 3_600_000) });
    const sender = run();
    expect(await sender.ask(id!)).toMatchObject({ record: { _id: id, status: 'pending' } });
    expect(await sender.ask('dlv_unknown')).toEqual({ record: null, isSlow: false });
    expect(receiver.received).toHaveLength(0);
  });

  test('does not send what its claim would not outlive', async () => {
    let late = 0;
    const [id] = await add(QUICK, 1);
    // The second look at the clock after the claim is 20 seconds later.
    run({
      now: async () => {
        const { status } = await read(id!);
        return new Date(Date.now() + (status === 'sweeping' && late++ === 1 ? 20_000 : 0));
      },
    });
    expect(await reached(id!, 'delivered')).toMatchObject({ attempts: 1 });
    expect(late).toBeGreaterThan(2);
    expect(receiver.received).toHaveLength(1);
  });

  test('gives a claim back when MongoDB fails before the request', async () => {
    let failures = 0;
    let primary = false;
    const [id] = await add(QUICK, 1);
    run({
      registrations: {
        findForOrg: async (org) => {
          if (primary) return harness.registrations.findForOrg(org);
          failures += 1;
          throw new MongoNetworkError('connection closed');
        },
      },
    });
    const given = await eventually('the claim given back', async () => {
      const record = await read(id!);
      return failures > 0 && record.status === 'pending' && record;
    });
    expect(given).toMatchObject({ attempts: 0 });
    primary = true;
    expect(await reached(id!, 'delivered')).toMatchObject({ attempts: 1 });
    expect(receiver.received).toHaveLength(1);
  });

  test('stores with each delivery the outcome of its own attempt, however many it stores together', async () => {
    const ids = await add(QUICK, 60);
    receiver.respond = (request) => ({ status: 200, body: `for ${request.json.delivery_id}` });
    run();
    await delivered(QUICK, 60);
    for (const record of await collections.deliveries.find({ _id: { $in: ids } }).toArray()) {
      expect(record).toMatchObject({ attempts: 1, error_code: null, next_attempt_at: null });
      expect(record).toMatchObject({ url: receiver.url, expires_at: expect.any(Date) });
      expect(record.attempt_log).toMatchObject([{ status_code: 200, answer: `for ${record._id}` }]);
    }
  });

  test('stores no outcome of a claim that was taken over, among others of the same claim', async () => {
    await add(QUICK, 3);
    const now = new Date();
    const waiting = await harness.deliveryQueue.listDue(QUICK, now, 10);
    const claimed = await harness.deliveryQueue.claim(waiting, now, 60_000);
    const [first, taken, last] = claimed.map(({ _id }) => _id);
    await collections.deliveries.updateOne({ _id: taken! }, { $set: { claim: 'of another' } });
    const outcomes = claimed.map((delivery, n) => ({
      claimed: delivery,
      has_workflow: false,
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
    const stored = await harness.deliveryQueue.record(outcomes, now);
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
    const read = await harness.deliveryQueue.listDue(QUICK, now, 10);
    const later = new Date(now.getTime() + 60_000);
    await collections.deliveries.updateOne({ _id: changed! }, { $set: { failures: 1, updated_at: later } });
    const claimed = await harness.deliveryQueue.claim(read, now, 60_000);
    expect(claimed).toMatchObject([{ _id: same, status: 'sweeping', attempts: 1 }]);
    const pending = await collections.deliveries.findOne({ _id: changed! });
    expect(pending).toMatchObject({ status: 'pending', failures: 1 });
  });

  test('claims nothing that a later version has replaced, also when its transaction began before others changed', async () => {
    const [replaced, same] = await add(QUICK, 2);
    const now = new Date();
    const read = await harness.deliveryQueue.listDue(QUICK, now, 10);
    const { updated_at } = read.find(({ _id }) => _id === replaced)!;
    await collections.deliveries.updateOne({ _id: replaced! }, { $set: { superseded: true, updated_at } });
    const claimed = await harness.deliveryQueue.claim(read, now, 60_000);
    expect(claimed).toMatchObject([{ _id: same, status: 'sweeping' }]);
    const again = await harness.deliveryQueue.listDue(QUICK, now, 10);
    expect(await harness.deliveryQueue.claim(again, now, 60_000)).toMatchObject([{ _id: replaced, superseded: true }]);
  });

  test('finds the next delivery of each receiver with one key of the index, however many wait', async () => {
    await add(QUICK, 500);
    await add(SLOW, 500);
    const queue = harness.deliveryQueue;
    expect((await queue.heads()).map(({ receiver }) => receiver).sort()).toEqual([QUICK, SLOW]);
    const plan = await collections.deliveries.aggregate(HEADS, { hint: QUEUE_INDEX }).explain('executionStats');
    expect(JSON.stringify(plan)).toContain('DISTINCT_SCAN');
    expect(JSON.stringify(plan)).not.toContain('FETCH');
  });
});
