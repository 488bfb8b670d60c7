import { beforeAll, describe, expect, test } from '@jest/globals';
import { ScheduleNotFoundError } from '@temporalio/client';
import type { StartedSync } from '../../domain/connectors/workflow-contract.js';
import { createSealer } from '../../domain/sealing.js';
import { type ConnectorRecord, createConnectors } from '../../storage/connectors/connectors.js';
import { type ConnectorResourceRecord, createConnectorResources } from '../../storage/connectors/resources.js';
import { createConnectorSyncs } from '../../storage/connectors/syncs.js';
import { byOrganisation } from '../../storage/organisation-records.js';
import { inTransaction } from '../../storage/transactions.js';
import { connectorsOf } from '../support/connectors.js';
import { clientDuringTests, duringTests, temporalDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { listedWorkflows } from '../support/listed-workflows.js';
import { connectMongo } from '../support/mongodb.js';
import { clientOf } from '../support/organisation.js';
import { databaseBeside, sharedProduct, startApi, withDb } from '../support/product.js';
import { startProxy } from '../support/proxy.js';
import { reconcile } from '../support/reconcile.js';
import { html, startSite } from '../support/site.js';

const sealer = createSealer(Buffer.alloc(32).toString('base64'));

interface Connector {
  id: string;
  settings: object;
  schedule: object;
}

describe('connectors', () => {
  const product = sharedProduct();
  const { mongodbUri } = product;
  const org = 'connectors';
  const database = 'harbour';
  const api = clientDuringTests(org);
  const connectors = connectorsOf(api, mongodbUri);
  const temporal = temporalDuringTests();
  const site = duringTests(() => startSite({ '/a': html('A', 'Page a.'), '/b': html('B', 'Page b.') }));
  beforeAll(() => api.createDatabase(database));

  const web = (paths = ['/a', '/b']) => ({
    kind: 'web',
    database,
    settings: { urls: paths.map((path) => site.url + path) },
  });
  const scheduleOf = (id: string) => temporal.schedule.getHandle(`sync/${org}/${id}`);

  test('are created, read, listed in pages and updated without the envelope; errors have it', async () => {
    const created = await api.post('/connectors', { ...web(), schedule: { every: 30, unit: 'minutes', paused: true } });
    expect(created.status).toBe(201);
    const connector = created.body as unknown as Connector;
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
    const others = [await connectors.create(web()), await connectors.create(web())];
    const listed: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = (await api.get(`/connectors?limit=2${cursor && `&cursor=${cursor}`}`)).body as unknown as {
        connectors: Connector[];
        next_cursor: string | null;
      };
      listed.push(...page.connectors.map((each) => each.id));
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
    const other = await clientOf('connectors-other');
    expect((await other.get(`/connectors/${id}`)).status).toBe(404);
    expect((await other.del(`/connectors/${id}`)).status).toBe(404);
    expect((await other.get('/connectors')).body).toEqual({ connectors: [], count: 0, next_cursor: null });
  });

  test.each([
    ['no kind', { kind: undefined }, 400],
    ['no settings', { settings: undefined }, 400],
    ['neither pages nor a sitemap', { settings: {} }, 422],
    ['a setting of another kind', { settings: { urls: ['https://example.org'], bucket: 'x' } }, 422],
    ['a URL that is not http(s)', { settings: { urls: ['ftp://example.org'] } }, 422],
    ['an interval of zero', { schedule: { every: 0 } }, 422],
    ['an unknown database', { database: 'nowhere' }, 404],
    ['credentials in a URL', { settings: { urls: ['https://me:secret@example.org/'] } }, 422],
    [
      'a key that no header can carry',
      {
        kind: 's3',
        settings: { endpoint: 'https://s3.example', bucket: 'files' },
        credentials: { access_key_id: 'AKIA\ud83d', secret_access_key: 's' },
      },
      422,
    ],
  ])('%s is rejected', async (_what, change, status) => {
    const rejected = await api.post('/connectors', { ...web(), ...change });
    expect([rejected.status, rejected.body.success]).toEqual([status, false]);
  });

  test('the schedule in Temporal syncs at once, is updated and paused, and is deleted with the connector', async () => {
    const { body } = await api.post('/connectors', { ...web(), schedule: { every: 6 } });
    const { id } = body as unknown as Connector;
    const first = await connectors.ended(id, 1);
    expect(first.last_sync).toMatchObject({ number: 1, status: 'completed' });
    expect(Date.parse(first.next_sync_at!)).toBeGreaterThan(Date.now());
    const scheduled = await scheduleOf(id).describe();
    expect(scheduled.spec.intervals).toMatchObject([{ every: 6 * 3_600_000 }]);
    expect(scheduled.policies.overlap).toBe('SKIP');

    await api.request('PATCH', `/connectors/${id}`, {
      json: { schedule: { every: 15, unit: 'minutes', paused: true } },
    });
    const paused = await scheduleOf(id).describe();
    expect([paused.spec.intervals?.[0]?.every, paused.state.paused]).toEqual([15 * 60_000, true]);
    expect((await connectors.status(id)).next_sync_at).toBeNull();
    expect((await connectors.sync(id)).last_sync).toMatchObject({ number: 2, counts: { unchanged: 2 } });

    expect((await api.del(`/connectors/${id}`)).body).toEqual({ id, deleted: true, items: 'kept' });
    await expect(scheduleOf(id).describe()).rejects.toThrow(ScheduleNotFoundError);
    expect((await api.get(`/connectors/${id}`)).status).toBe(404);
    await eventually('the connector removed', () =>
      withDb(mongodbUri, async (db) => {
        const records = await db.collection<{ _id: string }>('connectors').countDocuments({ _id: id });
        return records + (await db.collection('connector_resources').countDocuments({ connector: id })) === 0;
      }),
    );
    expect(await connectors.traces(connectors.itemOf(id, `${site.url}/a`))).toMatchObject({ items: 1 });
  });

  test('deleting a connector with its items removes them even during a sync', async () => {
    const id = await connectors.create(web());
    await connectors.sync(id);
    const items = ['/a', '/b'].map((path) => connectors.itemOf(id, site.url + path));
    for (const item of items) await api.ended(database, item);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const requested = new Promise<void>((resolve) => {
      site.hold = async (path) => {
        if (path !== '/a') return;
        resolve();
        await held;
      };
    });
    site.pages.set('/a', { body: html('A', 'Page a has changed.') });
    await api.post(`/connectors/${id}/sync`);
    await requested;
    expect((await api.del(`/connectors/${id}?items=remove`)).body).toMatchObject({ items: 'removing' });
    release();
    site.hold = undefined;
    await eventually('its items removed', async () => {
      const traces = await Promise.all(items.map((item) => connectors.traces(item)));
      return traces.every((counts) => Object.values(counts).every((count) => count === 0));
    });
    const query = `WorkflowType="syncConnector" AND PostbackSource="${id}" AND ExecutionStatus="Running"`;
    await eventually('no sync runs', async () => (await temporal.workflow.count(query)).count === 0);
    for (const item of items) await connectors.cleared(item);
  });

  test('a sync that is cancelled in Temporal has failed, and the next sync completes', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    site.hold = () => held;
    const id = await connectors.create(web());
    await api.post(`/connectors/${id}/sync`);
    await eventually('the sync running', async () => (await connectors.status(id)).last_sync?.status === 'running');
    const query = `WorkflowType="syncConnector" AND PostbackSource="${id}"`;
    const [listed] = await listedWorkflows(temporal, query);
    await temporal.workflow.getHandle(listed!.workflowId).cancel();
    expect((await connectors.ended(id, 1)).last_sync).toMatchObject({
      status: 'failed',
      error_code: 'CANCELLED',
      error_message: 'The sync was cancelled.',
    });
    site.hold = undefined;
    release();
    expect((await connectors.sync(id)).last_sync).toMatchObject({ number: 2, status: 'completed' });
  });

  test.each<[string, object]>([
    ['the first sync', { paused: false }],
    ['a requested sync', { paused: true }],
  ])('a second sync does not start during %s', async (_, schedule) => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    site.hold = () => held;
    const id = await connectors.create({ ...web(), schedule });
    await api.post(`/connectors/${id}/sync`);
    await eventually('the sync running', async () => (await connectors.status(id)).last_sync?.status === 'running');
    const again = await api.post(`/connectors/${id}/sync`);
    expect(again.body).toMatchObject({ syncing: true, message: 'A sync is already running.' });
    expect((await connectors.status(id)).syncing).toBe(true);
    site.hold = undefined;
    release();
    expect((await connectors.ended(id, 1)).last_sync.number).toBe(1);
    const query = `WorkflowType="syncConnector" AND PostbackSource="${id}"`;
    expect(await eventually('the sync listed', async () => (await temporal.workflow.count(query)).count)).toBe(1);
  });

  test('the reconciler creates a missing schedule; an Idempotency-Key creates one connector', async () => {
    const headers = { 'Idempotency-Key': 'one-connector' };
    const bodies = [];
    for (let n = 0; n < 2; n++) {
      bodies.push(
        (await api.request('POST', '/connectors', { json: { ...web(), schedule: { every: 5 } }, headers })).body,
      );
    }
    expect(bodies[1]).toEqual(bodies[0]);
    const { id } = bodies[0] as unknown as Connector;
    await connectors.ended(id, 1);
    await scheduleOf(id).delete();
    // The record of a process that died before it called Temporal.
    await withDb(mongodbUri, (db) =>
      db
        .collection<{ _id: string }>('connectors')
        .updateOne({ _id: id }, { $set: { pending: true, updated_at: new Date(0) } }),
    );
    await reconcile(product);
    expect((await scheduleOf(id).describe()).spec.intervals).toHaveLength(1);
  });

  describe('a change that reaches Temporal late', () => {
    const proxy = duringTests(() => startProxy(product.temporalAddress));
    const slow = duringTests(
      () => startApi({ ...product, temporalAddress: proxy.address }, {}),
      (process) => process.stop(),
    );

    /** Sets an interval of two hours, which Temporal learns only after the later change. */
    async function changeAround(id: string, later: () => Promise<unknown>): Promise<void> {
      const slowApi = await clientOf(org, { ...product, apiUrl: slow.apiUrl });
      proxy.hold();
      const changed = slowApi.request('PATCH', `/connectors/${id}`, { json: { schedule: { every: 2 } } });
      await eventually('the change stored', async () => {
        const { schedule } = (await api.get(`/connectors/${id}`)).body as unknown as { schedule: { every: number } };
        return schedule.every === 2;
      });
      await later();
      proxy.restore();
      expect((await changed).status).toBe(200);
    }

    test('does not undo a later change', async () => {
      const id = await connectors.create(web());
      await changeAround(id, () => api.request('PATCH', `/connectors/${id}`, { json: { schedule: { every: 3 } } }));
      expect((await scheduleOf(id).describe()).spec.intervals).toMatchObject([{ every: 3 * 3_600_000 }]);
    });

    test('does not bring back the schedule of a connector that was deleted meanwhile', async () => {
      const id = await connectors.create(web());
      await changeAround(id, async () => {
        await api.del(`/connectors/${id}`);
        await eventually('the record removed', () =>
          withDb(mongodbUri, async (db) => {
            return (await db.collection<{ _id: string }>('connectors').countDocuments({ _id: id })) === 0;
          }),
        );
      });
      await expect(scheduleOf(id).describe()).rejects.toThrow(ScheduleNotFoundError);
    });
  });
});

test('changes count by their order, also those that a slow clock dates before a sync or into one millisecond', async () => {
  const org = 'connector-clocks';
  const client = await connectMongo(databaseBeside(sharedProduct().mongodbUri, org));
  const records = byOrganisation(client.db().collection<ConnectorRecord>('connectors'));
  const collections = { connectors: records, now: () => new Date(0) };
  const [connectors, syncs] = [createConnectors(collections, sealer), createConnectorSyncs(collections)];
  const etags = ['"unchanged"', '"changed"'];
  const listings = etags.map(async (etag) => {
    const record = { _id: etag, org, settings: {}, deleted_at: null, sync: null, listing: {}, revision: 1 };
    await records.insertOne(record as unknown as ConnectorRecord);
    const connector = (await syncs.start(org, etag))!;
    const change = { settings: { url: 'https://example.org/' } as never };
    if (etag === '"changed"') for (let n = 0; n < 2; n++) await connectors.update(org, etag, change);
    await syncs.end({ org, connector: etag, sync: 1 }, { status: 'completed' }, {} as never, { etag });
    const { listing, revision } = (await connectors.findForOrg(org, etag))!;
    return { listing, applied: await connectors.markApplied({ ...connector, revision: Math.max(1, revision - 1) }) };
  });
  expect(await Promise.all(listings)).toEqual([
    { listing: { etag: '"unchanged"' }, applied: true },
    { listing: {}, applied: false },
  ]);
});

test('lists read neither the positions of syncs nor the links of pages', async () => {
  const org = 'connector-lists';
  const client = await connectMongo(databaseBeside(sharedProduct().mongodbUri, org), { monitorCommands: true });
  const collections = {
    connectors: byOrganisation(client.db().collection<ConnectorRecord>('connectors')),
    connectorResources: byOrganisation(client.db().collection<ConnectorResourceRecord>('connector_resources')),
    now: () => new Date(),
  };
  const connectors = createConnectors(collections, sealer);
  const resources = createConnectorResources(collections);
  const [first, second] = [1, 2].map((sync) => ({ org, connector: 'con_lists', sync })) as [StartedSync, StartedSync];
  const seen = [{ key: 'https://example.org/', depth: 0 }];
  const recordSeen = (ref: StartedSync) => inTransaction(client, (tx) => resources.recordSeen(ref, seen, 1, tx));
  const connector = { _id: first.connector, org, deleted_at: null, sync: { cursor: 'unread' } };
  await collections.connectors.insertOne(connector as unknown as ConnectorRecord);
  await recordSeen(first);
  await collections.connectorResources.updateMany({}, { $set: { links: ['unread'], 'error.code': 'NOT_FOUND' } });

  const found: object[] = [];
  client.on('commandSucceeded', ({ commandName, reply }) => {
    if (commandName === 'find') found.push(...(reply as { cursor: { firstBatch: object[] } }).cursor.firstBatch);
  });
  await connectors.listForOrg(org, { limit: 10 });
  await resources.listFailing(first, { limit: 10 });
  await resources.listVanished(second, true, 10);
  await resources.listAny(first, 10);
  await recordSeen(second);
  expect(found).toHaveLength(5);
  expect(found.filter((record) => 'links' in record || JSON.stringify(record).includes('"cursor"'))).toEqual([]);
});
