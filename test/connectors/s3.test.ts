import { beforeAll, describe, expect, test } from '@jest/globals';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { connectTemporal } from '../../temporal/connection.js';
import { connectorsOf } from '../support/connectors.js';
import { clientDuringTests, duringTests } from '../support/during-tests.js';
import { listedWorkflows } from '../support/listed-workflows.js';
import { logWith } from '../support/logs.js';
import { sharedProduct, withDb } from '../support/product.js';
import { S3_KEYS, startS3 } from '../support/s3.js';

describe('an S3 connector', () => {
  const { mongodbUri, temporalAddress, dataDir } = sharedProduct();
  const org = 'connectors-s3';
  const database = 'bucket';
  const api = clientDuringTests(org);
  const connectors = connectorsOf(api, mongodbUri);
  const s3 = duringTests(() => startS3('archive'));
  beforeAll(() => api.createDatabase(database));

  const counts = (some: object) => ({ new: 0, changed: 0, unchanged: 0, removed: 0, failed: 0, ...some });
  const settings = (prefix: string) => ({ endpoint: s3.endpoint, bucket: s3.bucket, prefix });

  test('ingests the objects under a prefix, fetches only objects that the listing shows as changed, and removes the items of deleted objects', async () => {
    const odd = "notes/Überfahrt & (Nebel) 1+1='2'.txt";
    await s3.put('notes/lamp.txt', 'The lamp was lit at dusk.');
    await s3.put(odd, 'Fog over the sound the whole day.');
    await s3.put('notes/boat.md', '# Boat\n\nThe boat came on Tuesday.');
    await s3.put('other/secret.txt', 'Not under the prefix.');
    const id = await connectors.create({ kind: 's3', database, settings: settings('notes/'), credentials: S3_KEYS });
    expect(await connectors.sync(id)).toMatchObject({ last_sync: { counts: counts({ new: 3 }) }, errors: [] });
    for (const key of ['notes/lamp.txt', odd, 'notes/boat.md']) {
      expect(await api.ended(database, connectors.itemOf(id, key))).toMatchObject({ indexing_status: 'completed' });
    }
    const record = await withDb(mongodbUri, (db) => db.collection('items').findOne({ id: connectors.itemOf(id, odd) }));
    expect(record!.additional_metadata).toEqual({ source: `s3://archive/${odd}`, resource: odd, connector_id: id });

    s3.requests.length = 0;
    expect((await connectors.sync(id)).last_sync).toMatchObject({ counts: counts({ unchanged: 3 }) });
    expect(s3.requests).toHaveLength(1);
    expect(s3.requests[0]).toContain('list-type=2');

    await s3.put('notes/lamp.txt', 'The lamp was lit at noon.');
    await s3.remove('notes/boat.md');
    s3.requests.length = 0;
    expect((await connectors.sync(id)).last_sync).toMatchObject({
      counts: counts({ changed: 1, unchanged: 1, removed: 1 }),
    });
    expect(s3.requests.filter((request) => !request.includes('list-type'))).toEqual(['GET /archive/notes/lamp.txt']);
    await connectors.cleared(connectors.itemOf(id, 'notes/boat.md'));
  });

  test('reports why a bucket cannot be read', async () => {
    const nowhere = { ...settings(''), bucket: 'nowhere' };
    const lost = await connectors.create({ kind: 's3', database, settings: nowhere, credentials: S3_KEYS });
    expect((await connectors.sync(lost)).last_sync).toMatchObject({
      status: 'failed',
      error_message: 'There is no such bucket.',
    });
    const credentials = { ...S3_KEYS, access_key_id: 'NOBODY' };
    const id = await connectors.create({ kind: 's3', database, settings: settings(''), credentials });
    expect((await connectors.sync(id)).last_sync).toMatchObject({
      status: 'failed',
      error_message: 'The server does not know the access key.',
    });
    // The right key, set afterwards, works.
    await api.request('PATCH', `/connectors/${id}`, { json: { settings: settings('notes/'), credentials: S3_KEYS } });
    expect((await connectors.sync(id)).last_sync).toMatchObject({ status: 'completed' });
  });

  test('stored credentials stay with their endpoint and bucket: another destination needs them again', async () => {
    await s3.put('notes/lamp.txt', 'The lamp was lit at dusk.');
    const schedule = { paused: true };
    const created = { kind: 's3', database, schedule, settings: settings('notes/'), credentials: S3_KEYS };
    const id = await connectors.create(created);
    const change = (json: object) => api.request('PATCH', `/connectors/${id}`, { json });
    const elsewhere = { ...settings('notes/'), endpoint: s3.endpoint.replace('127.0.0.1', '127.0.0.2') };
    for (const moved of [
      elsewhere,
      { ...settings('notes/'), bucket: 'another' },
      { ...settings('notes/'), path_style: false },
    ]) {
      const { status, body } = await change({ settings: moved });
      expect([status, body.error]).toEqual([
        422,
        { code: 'VALIDATION_ERROR', message: expect.stringMatching(/^credentials: are required again/) },
      ]);
    }
    const { body } = await api.get(`/connectors/${id}`);
    expect(body).toMatchObject({ settings: settings('notes/'), credentials_configured: true });
    // The same destination keeps them.
    expect((await change({ settings: { ...settings('other/'), region: 'eu-central-1' } })).status).toBe(200);
    // Another destination takes new ones, or none.
    expect((await change({ settings: elsewhere, credentials: S3_KEYS })).body).toMatchObject({ settings: elsewhere });
    const open = await change({ settings: settings('notes/'), credentials: null });
    expect([open.status, open.body]).toEqual([200, expect.objectContaining({ credentials_configured: false })]);
    expect((await change({ settings: elsewhere })).status).toBe(200);
    expect((await change({ settings: settings(''), schedule: { every: 2 } })).status).toBe(200);
    expect((await api.request('PATCH', '/connectors/con_unknown', { json: { settings: elsewhere } })).status).toBe(404);
  });

  test.each(['https://169.254.169.254', 'https://192.168.1.10:9000', 'https://[::1]:9000', 'http://1.1.1.1'])(
    '%s is rejected as its endpoint',
    async (endpoint) => {
      const rejected = await api.post('/connectors', {
        kind: 's3',
        database,
        settings: { endpoint, bucket: 'archive' },
      });
      expect([rejected.status, rejected.body.error]).toEqual([
        422,
        { code: 'VALIDATION_ERROR', message: expect.stringContaining('settings.endpoint') },
      ]);
    },
  );

  test('its endpoint is checked again when it changes, and when a sync begins', async () => {
    const id = await connectors.create({ kind: 's3', database, settings: settings('') });
    const rejected = await api.request('PATCH', `/connectors/${id}`, {
      json: { settings: { ...settings(''), endpoint: 'https://10.1.1.1' } },
    });
    expect(rejected.status).toBe(422);
    await withDb(mongodbUri, (db) =>
      db
        .collection<{ _id: string }>('connectors')
        .updateOne({ _id: id }, { $set: { 'settings.endpoint': 'https://10.1.1.1' } }),
    );
    expect((await connectors.sync(id)).last_sync).toMatchObject({ status: 'failed', error_code: 'BLOCKED_ADDRESS' });
  });

  test('its credentials are sealed and appear in no response, log or history', async () => {
    const secret = 'wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY';
    const credentials = { access_key_id: 'AKIAIOSFODNN7EXAMPLE', secret_access_key: secret };
    const created = await api.post('/connectors', { kind: 's3', database, settings: settings(''), credentials });
    const { id, credentials_configured } = created.body as unknown as { id: string; credentials_configured: boolean };
    expect(credentials_configured).toBe(true);
    // It is not paused, so its first sync starts by itself.
    expect((await connectors.ended(id, 1)).last_sync).toMatchObject({ status: 'failed' });
    const responses = [
      created,
      await api.get(`/connectors/${id}`),
      await api.get('/connectors'),
      await api.get(`/connectors/${id}/status`),
    ];
    const stored = await withDb(mongodbUri, (db) =>
      db.collection<{ _id: string; sealed_credentials: unknown }>('connectors').findOne({ _id: id }),
    );
    expect(stored!.sealed_credentials).not.toBeNull();
    const lastRequest = responses.at(-1)!.headers.get('x-request-id')!;
    const logs = [await logWith(dataDir, 'api', lastRequest), await logWith(dataDir, 'worker', id)];

    const temporal = await connectTemporal(temporalAddress, 'default');
    let histories = '';
    const query = `PostbackOrganisation="${org}" AND WorkflowType="syncConnector"`;
    // Those of earlier tests are listed sooner.
    const isOfThis = ({ workflowId }: { workflowId: string }) => workflowId.includes(id);
    for (const { workflowId, runId } of await listedWorkflows(temporal, query, (listed) => listed.some(isOfThis))) {
      histories += historyToJSON(await temporal.workflow.getHandle(workflowId, runId).fetchHistory());
    }
    await temporal.connection.close();
    const payloads = [...histories.matchAll(/"data": ?"([A-Za-z0-9+/=]+)"/g)].map(([, data]) =>
      Buffer.from(data!, 'base64').toString(),
    );
    expect(payloads.join()).toContain(id);
    const encoded = Buffer.from(JSON.stringify(credentials)).toString('base64').slice(0, 40);
    for (const text of [JSON.stringify(responses), JSON.stringify(stored), logs.join(), histories, payloads.join()]) {
      for (const word of [secret, credentials.access_key_id, encoded]) expect(text).not.toContain(word);
    }
    // Histories contain no addresses either.
    expect(histories + payloads.join()).not.toContain(s3.endpoint);
  });
});
