import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Db } from 'mongodb';
import { createClient } from '../support/client.js';
import { createCrewClient } from '../support/crew-client.js';
import { type EventStream, openEvents } from '../support/event-stream.js';
import { eventually } from '../support/eventually.js';
import { createJobClient } from '../support/job-client.js';
import { registeredReceiver } from '../support/organisation.js';
import { databaseBeside, makeKey, sharedProduct, startApi, withDb } from '../support/product.js';
import { storeDelivery } from '../support/records.js';

const open: EventStream[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((stream) => stream.close()));
});

describe('the events of an organisation', () => {
  const { apiUrl, mongodbUri } = sharedProduct();

  async function keyOf(org: string, kind: 'api' | 'crew_org' = 'api') {
    return (await makeKey(mongodbUri, org, kind)).key;
  }
  async function listen(key: string, options: Parameters<typeof openEvents>[2] = {}) {
    const stream = await openEvents(apiUrl, key, options);
    open.push(stream);
    await stream.ready();
    return stream;
  }

  test('are the states of its items and of their deliveries, each in order, and of no other organisation', async () => {
    const key = await keyOf('events');
    const api = createClient(apiUrl, key);
    const other = await listen(await keyOf('events-other'));
    await api.createDatabase('shelf');
    const receiver = await registeredReceiver(api);
    const stream = await listen(key);
    expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream/);

    const file = { name: 'tide.md', content: '# Tide\n\nThe tide turns at noon.' };
    await api.ingest({ database: 'shelf', document_metadata: JSON.stringify([{ id: 'tide' }]) }, [file]);
    await stream.find('the delivery', ({ json }) => json.doc_id === 'tide' && json.status === 'delivered');
    await api.ingest({ database: 'shelf', document_metadata: JSON.stringify([{ id: 'empty' }]) }, [
      { name: 'empty.pdf', content: '%PDF-1.7\nnothing' },
    ]);
    const failed = await stream.find('the failure', ({ json }) => json.id === 'empty' && json.status === 'errored');
    expect(failed.json.error_code).toMatch(/^E\d{4}$/);
    await receiver.close();

    // A replacement is no deletion, although the version before is cleared.
    const changed = { name: 'tide.md', content: '# Tide\n\nThe tide turns at one.' };
    const again = { database: 'shelf', upsert: 'true', document_metadata: JSON.stringify([{ id: 'tide' }]) };
    await api.ingest(again, [changed]);
    const isCompleted = ({ json }: { json: Record<string, unknown> }) =>
      json.id === 'tide' && json.status === 'completed';
    await eventually('the replacement', () => stream.events.filter(isCompleted).length === 2);
    await api.request('DELETE', '/context', { json: { database: 'shelf', ids: ['tide'] } });
    await stream.find('the deletion', ({ json }) => json.event === 'item.deleted');
    expect(stream.data().filter(({ event }) => event === 'item.deleted')).toEqual([
      { event: 'item.deleted', id: 'tide', database: 'shelf', collection: 'default', timestamp: expect.any(String) },
    ]);

    const states = (isIt: (event: Record<string, unknown>) => boolean) =>
      stream
        .data()
        .filter((event) => isIt(event))
        .map((event) => ('status' in event ? event.status : undefined));
    const item = states(({ event, id }) => event === 'indexing.status_changed' && id === 'tide');
    expect([item[0], item.at(-1)]).toEqual(['queued', 'completed']);
    const delivery = states(({ doc_id }) => doc_id === 'tide');
    expect(delivery.slice(0, 3)).toEqual(['pending', 'sweeping', 'delivered']);
    expect(stream.data().find(({ event }) => event === 'indexing.status_changed')).toEqual({
      event: 'indexing.status_changed',
      id: 'tide',
      database: 'shelf',
      collection: 'default',
      status: 'queued',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    const ids = stream.events.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(other.data()).toEqual([]);
  });

  test('include AI jobs and crews, and can be limited to types and to a database', async () => {
    const key = await keyOf('events-kinds');
    const crewKey = await keyOf('events-kinds', 'crew_org');
    const all = await listen(crewKey);
    const jobs = await listen(key, {
      query: '?types=job.status_changed,execution.status_changed&types=job.status_changed',
    });
    const elsewhere = await listen(key, { query: '?database=elsewhere' });
    const api = createJobClient(apiUrl, key);
    const { body } = await api.submit('text/language_detection/eld', { text: 'Guten Morgen' });
    const crew = createCrewClient(apiUrl, 'support-reply', crewKey);
    const execution = await crew.start({ customer_message: 'Where do I moor?', notes: 'At the north quay.' });

    await jobs.find('the job', ({ json }) => json.job_id === body.job_id && json.status === 'success');
    expect(jobs.data().filter((event) => event.event === 'job.status_changed')[0]).toMatchObject({
      feature: 'text',
      subfeature: 'language_detection',
      status: 'queued',
    });
    await all.find('the execution', ({ json }) => json.execution_id === execution && json.status === 'running');
    expect(elsewhere.data()).toEqual([]);
  });

  test('say that a webhook was disabled', async () => {
    const key = await keyOf('events-disabled');
    const receiver = await registeredReceiver(createClient(apiUrl, key));
    const stream = await listen(key);
    const disabled = { disabled_at: new Date(), disabled_reason: 'Every attempt has failed.' };
    await withDb(mongodbUri, (db) =>
      db.collection('registrations').updateOne({ _id: 'events-disabled' as never }, { $set: disabled }),
    );
    const { json } = await stream.find('the event', ({ event }) => event === 'webhook.disabled');
    expect(json).toEqual({
      event: 'webhook.disabled',
      reason: 'Every attempt has failed.',
      timestamp: expect.any(String),
    });
    await receiver.close();
  });

  test('continue after the last event that was read, or start again with a reset', async () => {
    const org = 'events-resume';
    const key = await keyOf(org);
    const api = createClient(apiUrl, key);
    const receiver = await registeredReceiver(api);
    const deliver = (doc_id: string) => storeDelivery(mongodbUri, org, doc_id);
    const delivered = (stream: EventStream, id: string) =>
      stream.find(`${id} delivered`, ({ json }) => json.doc_id === id && json.status === 'delivered');
    const first = await listen(key);
    await deliver('one');
    const read = await delivered(first, 'one');
    // With another listener, the change stream is open. When that has got the events, it is further than the client that has left.
    const other = await listen(key);
    await first.close();

    await deliver('two');
    await delivered(other, 'two');
    const present = await listen(key);
    const second = await listen(key, { lastEventId: read.id });
    const missed = second.events.slice(
      0,
      second.events.findIndex(({ event }) => event === 'ready'),
    );
    const states = missed.map(({ json }) => `${json.doc_id} ${json.status}`);
    expect([states[0], states.filter((state) => state === 'two delivered').length]).toEqual(['two pending', 1]);
    expect(present.data()).toEqual([]);

    for (const lastEventId of ['1.1.1', '4294967295.1.1', 'not an id']) {
      const lost = await listen(key, { lastEventId });
      expect(lost.events).toEqual([expect.objectContaining({ event: 'reset', json: { reason: expect.any(String) } })]);
      await deliver(lastEventId);
      await delivered(lost, lastEventId);
    }
    await receiver.close();
  });

  test('end when nothing happens, for a client that does not ask for a stream', async () => {
    const headers = { Authorization: `Bearer ${await keyOf('events-whole')}` };
    const response = await fetch(`${apiUrl}/events`, { headers });
    expect(await response.text()).toMatch(/\nevent: ready\n/);
  });

  test('need a key of the organisation, and filters that exist', async () => {
    const key = await keyOf('events-errors');
    const api = createClient(apiUrl, key);
    expect((await api.get('/events?types=item.done')).status).toBe(400);
    expect((await createClient(apiUrl, 'pbk_api_unknown-key-of-some-length').get('/events')).status).toBe(401);
    const payments = (await makeKey(mongodbUri, 'events-errors', 'payment_secret')).key;
    expect((await createClient(apiUrl, payments).get('/events')).status).toBe(403);
    expect(
      (await fetch(`${apiUrl}/events`, { method: 'HEAD', headers: { Authorization: `Bearer ${key}` } })).status,
    ).toBe(200);
  });
});

/** An API process on a MongoDB database of its own, in which the test writes the records. */
describe('event streams of an API process', () => {
  const product = sharedProduct();
  const mongodbUri = databaseBeside(product.mongodbUri, 'events');
  let api: Awaited<ReturnType<typeof startApi>>;
  let stopped = false;

  beforeAll(async () => {
    api = await startApi(product, { MONGODB_URI: mongodbUri, POSTBACK_EVENT_STREAMS: '3' });
  });
  afterAll(async () => {
    if (!stopped) await api.stop();
  });

  const keyOf = async (org: string) => (await makeKey(mongodbUri, org)).key;
  async function listen(key: string, lastEventId?: string) {
    const stream = await openEvents(api.apiUrl, key, { lastEventId });
    open.push(stream);
    await stream.ready();
    return stream;
  }
  const addDelivery = (org: string, _id: string, doc_id = 'x') =>
    withDb(mongodbUri, (db) =>
      db
        .collection<{ _id: string }>('deliveries')
        .insertOne({ _id, dedupe_key: _id, org, doc_id, event_type: 'step', status: 'delivered' } as never),
    );
  /** Change streams on the database of this process. */
  const changeStreams = (db: Db) =>
    db.client
      .db('admin')
      .aggregate([
        { $currentOp: { allUsers: true, idleCursors: true } },
        { $match: { ns: /^events\./, 'cursor.originatingCommand.pipeline.0.$changeStream': { $exists: true } } },
      ])
      .toArray();

  test('share one change stream, which is open only while somebody listens', async () => {
    const [one, other] = await Promise.all([keyOf('one'), keyOf('other')]);
    const streams = await Promise.all([listen(one), listen(one), listen(other)]);
    await eventually('one change stream', async () => (await withDb(mongodbUri, changeStreams)).length === 1);
    await Promise.all(streams.map((stream) => stream.close()));
    await eventually('no change stream', async () => (await withDb(mongodbUri, changeStreams)).length === 0);
    const again = await listen(one);
    await addDelivery('one', 'again');
    await again.find('the delivery', ({ json }) => json.delivery_id === 'again');
  });

  test('leave no listener behind for clients that are gone before their stream is open', async () => {
    const key = await keyOf('gone');
    const gone = Array.from({ length: 3 }, async () => {
      const abort = new AbortController();
      const headers = { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' };
      const response = await fetch(`${api.apiUrl}/events`, { headers, signal: abort.signal });
      abort.abort();
      await response.text().catch(() => undefined);
    });
    await Promise.all(gone);
    await eventually('no change stream', async () => (await withDb(mongodbUri, changeStreams)).length === 0);
  });

  test('are limited in number for each organisation', async () => {
    const key = await keyOf('many');
    const streams = [await listen(key), await listen(key), await listen(key)];
    const response = await createClient(api.apiUrl, key).get('/events');
    expect([response.status, response.body.error?.code]).toEqual([429, 'RATE_LIMITED']);
    expect(response.headers.get('retry-after')).toBe('30');
    await listen(await keyOf('few'));
    await streams[0]!.close();
    await eventually('a free place', () => listen(key));
  });

  test('are cut for a client that does not read, which continues where it was', async () => {
    const key = await keyOf('slow');
    const fast = await listen(key);
    const { port } = new URL(api.apiUrl);
    const slow = connect(Number(port), '127.0.0.1').pause();
    slow.on('error', () => undefined);
    slow.write(`GET /events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    await once(slow, 'readable');
    const large = 'x'.repeat(100_000);
    for (let n = 0; n < 200; n++) {
      await addDelivery('slow', `slow-${n}`, large);
      // The other client keeps up.
      await fast.find(`event ${n}`, ({ json }) => json.delivery_id === `slow-${n}`);
    }
    const last = fast.events.at(-1)!;
    expect(fast.data().length).toBe(200);

    let received = '';
    slow.on('data', (data) => {
      received += data;
    });
    await once(slow.resume(), 'close');
    expect(received).not.toContain('"slow-199"');
    const [, lastId] = [...received.matchAll(/^id: (\S+)\nevent: .*\ndata: .*\n\n/gm)].at(-1)!;
    const rest = await listen(key, lastId);
    expect(rest.data().length).toBeLessThan(200);
    expect(rest.data().length).toBeGreaterThan(0);
    expect(rest.events.at(-2)?.id).toBe(last.id);
  });

  test('end when the process stops', async () => {
    const stream = await listen(await keyOf('last'));
    stopped = true;
    await Promise.all([stream.ended, api.stop()]);
  });
});
