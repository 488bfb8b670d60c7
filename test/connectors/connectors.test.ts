import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ScheduleNotFoundError, type Client as TemporalClient } from '@temporalio/client';
import { connectTemporal } from '../../temporal/connection.js';
import { type Client, createClient } from '../support/client.js';
import { connectorsOf } from '../support/connectors.js';
import { eventually } from '../support/eventually.js';
import { makeKey, sharedProduct, withDb } from '../support/product.js';
import { html, type Site, startSite } from '../support/site.js';

interface Connector {
  id: string;
  settings: object;
  schedule: object;
}

describe('connectors', () => {
  const { apiUrl, mongodbUri, temporalAddress } = sharedProduct();
  const org = 'connectors';
  const database = 'harbour';
  let api: Client;
  let key: string;
  let on: ReturnType<typeof connectorsOf>;
  let site: Site;
  let temporal: TemporalClient;

  beforeAll(async () => {
    key = (await makeKey(mongodbUri, org)).key;
    api = createClient(apiUrl, key);
    on = connectorsOf(api, mongodbUri);
    temporal = await connectTemporal(temporalAddress, 'default');
    site = await startSite({ '/a': html('A', 'Page a.'), '/b': html('B', 'Page b.') });
    await api.createDatabase(database);
  });
  afterAll(async () => {
    await site?.close();
    await temporal?.connection.close();
  });

  const web = (paths = ['/a', '/b']) => ({
    kind: 'web',
    database,
    settings: { urls: paths.map((path) => site.url + path) },
  });
  const scheduleOf = (id: string) => temporal.schedule.getHandle(`sync/${org}/${id}`);

  test('are made, read, listed page by page and changed, without the envelope; errors have it', async () => {
    const made = await api.post('/connectors', { ...web(), schedule: { every: 30, unit: 'minutes', paused: true } });
    expect(made.status).toBe(201);
    const connector = made.body as unknown as Connector;
    expect(connector).toEqual({
      id: expect.stringMatching(/^con_/),
      kind: 'web',
      database,
      collection: 'default',
      settings: { ...web().settings, follow_links: false, max_depth: 2 },
      credentials_configured: false,
      schedule: { every: 30, unit: 'minutes', paused: true },
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const { id } = connector;
    expect((await api.get(`/connectors/${id}`)).body).toEqual(connector);
    const others = [await on.create(web()), await on.create(web())];
    const listed: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = (await api.get(`/connectors?limit=2${cursor && `&cursor=${cursor}`}`)).body as unknown as {
        connectors: Connector[];
        next_cursor: string | null;
      };
      listed.push(...page.connectors.map((one) => one.id));
      cursor = page.next_cursor;
    }
    expect(listed).toEqual([...others.reverse(), id]);

    const changed = await api.request('PATCH', `/connectors/${id}`, {
      json: { schedule: { every: 2, unit: 'hours' } },
    });
    expect(changed.body).toMatchObject({
      settings: connector.settings,
      schedule: { every: 2, unit: 'hours', paused: true },
    });

    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/sync'],
      ['GET', '/status'],
    ]) {
      const missing = await api.request(method!, `/connectors/con_none${path}`, method === 'PATCH' ? { json: {} } : {});
      expect([missing.status, missing.body.success, missing.body.error?.code]).toEqual([
        404,
        false,
        'CONNECTOR_NOT_FOUND',
      ]);
    }
    const stranger = createClient(apiUrl, (await makeKey(mongodbUri, 'connectors-stranger')).key);
    expect((await stranger.get(`/connectors/${id}`)).status).toBe(404);
    expect((await stranger.del(`/connectors/${id}`)).status).toBe(404);
    expect((await stranger.get('/connectors')).body).toEqual({ connectors: [], count: 0, next_cursor: null });
  });

  test.each([
    ['no kind', { kind: undefined }, 400],
    ['no settings', { settings: undefined }, 400],
    ['neither pages nor a sitemap', { settings: {} }, 422],
    ['a setting of another kind', { settings: { urls: ['https://example.org'], bucket: 'x' } }, 422],
    ['no http address', { settings: { urls: ['ftp://example.org'] } }, 422],
    ['an interval of nothing', { schedule: { every: 0 } }, 422],
    ['a database that is not there', { database: 'nowhere' }, 404],
    ['credentials in an address', { settings: { urls: ['https://me:secret@example.org/'] } }, 422],
  ])('%s is refused', async (_what, change, status) => {
    const refused = await api.post('/connectors', { ...web(), ...change });
    expect([refused.status, refused.body.success]).toEqual([status, false]);
  });

  test('a schedule in Temporal syncs at once, follows changes, is paused, and goes with the connector', async () => {
    const { body } = await api.post('/connectors', { ...web(), schedule: { every: 6 } });
    const { id } = body as unknown as Connector;
    const first = await on.ended(id, 1);
    expect(first.last_sync).toMatchObject({ number: 1, status: 'completed' });
    expect(Date.parse(first.next_sync_at!)).toBeGreaterThan(Date.now());
    const made = await scheduleOf(id).describe();
    expect(made.spec.intervals).toMatchObject([{ every: 6 * 3_600_000 }]);
    expect(made.policies.overlap).toBe('SKIP');

    await api.request('PATCH', `/connectors/${id}`, {
      json: { schedule: { every: 15, unit: 'minutes', paused: true } },
    });
    const paused = await scheduleOf(id).describe();
    expect([paused.spec.intervals?.[0]?.every, paused.state.paused]).toEqual([15 * 60_000, true]);
    expect((await on.status(id)).next_sync_at).toBeNull();
    expect((await on.sync(id)).last_sync).toMatchObject({ number: 2, counts: { unchanged: 2 } });

    expect((await api.del(`/connectors/${id}`)).body).toEqual({ id, deleted: true, items: 'kept' });
    await expect(scheduleOf(id).describe()).rejects.toThrow(ScheduleNotFoundError);
    expect((await api.get(`/connectors/${id}`)).status).toBe(404);
    await eventually('nothing is left of the connector', () =>
      withDb(mongodbUri, async (db) => {
        const left = await db.collection<{ _id: string }>('connectors').countDocuments({ _id: id });
        return left + (await db.collection('connector_resources').countDocuments({ connector: id })) === 0;
      }),
    );
    expect(await on.traces(on.itemOf(id, `${site.url}/a`))).toMatchObject({ items: 1 });
  });

  test('deleting one with its items removes them, also in the middle of a sync', async () => {
    const id = await on.create(web());
    await on.sync(id);
    const items = ['/a', '/b'].map((path) => on.itemOf(id, site.url + path));
    for (const item of items) await api.ended(database, item);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const asked = new Promise<void>((resolve) => {
      site.hold = async (path) => {
        if (path !== '/a') return;
        resolve();
        await held;
      };
    });
    site.pages.set('/a', { body: html('A', 'Page a has changed.') });
    await api.post(`/connectors/${id}/sync`);
    await asked;
    expect((await api.del(`/connectors/${id}?items=remove`)).body).toMatchObject({ items: 'removing' });
    release();
    site.hold = undefined;
    await eventually('its items are gone', async () => {
      const traces = await Promise.all(items.map((item) => on.traces(item)));
      return traces.every((one) => Object.values(one).every((count) => count === 0));
    });
    const query = `WorkflowType="syncConnector" AND PostbackSource="${id}" AND ExecutionStatus="Running"`;
    await eventually('no sync runs', async () => (await temporal.workflow.count(query)).count === 0);
    for (const item of items) await on.cleared(item);
  });

  test.each<[string, object]>([
    ['the first one', { paused: false }],
    ['one that was asked for', { paused: true }],
  ])('a second sync is not started beside one that runs: %s', async (_, schedule) => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    site.hold = () => held;
    const id = await on.create({ ...web(), schedule });
    await api.post(`/connectors/${id}/sync`);
    await eventually('the sync runs', async () => (await on.status(id)).last_sync?.status === 'running');
    const again = await api.post(`/connectors/${id}/sync`);
    expect(again.body).toMatchObject({ syncing: true, message: 'A sync is already running.' });
    expect((await on.status(id)).syncing).toBe(true);
    site.hold = undefined;
    release();
    expect((await on.ended(id, 1)).last_sync.number).toBe(1);
    const query = `WorkflowType="syncConnector" AND PostbackSource="${id}"`;
    expect(await eventually('it is listed', async () => (await temporal.workflow.count(query)).count)).toBe(1);
  });

  test('one whose schedule could not be made is found by the sweep; an Idempotency-Key makes one once', async () => {
    const headers = { 'Idempotency-Key': 'one-connector' };
    const bodies = [];
    for (let n = 0; n < 2; n++) {
      bodies.push(
        (await api.request('POST', '/connectors', { json: { ...web(), schedule: { every: 5 } }, headers })).body,
      );
    }
    expect(bodies[1]).toEqual(bodies[0]);
    const { id } = bodies[0] as unknown as Connector;
    await on.ended(id, 1);
    await scheduleOf(id).delete();
    // As a process leaves it that dies before it has told Temporal.
    await withDb(mongodbUri, (db) =>
      db.collection<{ _id: string }>('connectors').updateOne({ _id: id }, { $set: { pending: true } }),
    );
    await eventually(
      'the schedule is back',
      async () => (await scheduleOf(id).describe()).spec.intervals?.length === 1,
    );
  });
});
