import { describe, expect, test } from '@jest/globals';
import { statusAndCode } from '../support/client.js';
import { clientDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';

describe('deprecated names', () => {
  const api = clientDuringTests('old-client');

  test('the routes under /tenants work like those under /databases, with the deprecated names', async () => {
    const created = await api.post('/tenants', { tenant_id: 'old' });
    expect([created.status, created.body.data]).toEqual([202, { tenant_id: 'old', status: 'provisioning' }]);
    await eventually('ready', async () => {
      const { data } = (await api.get('/tenants/status?tenant_id=old')).body;
      expect(data.tenant_id).toBe('old');
      return data.infra.ready_for_ingestion;
    });
    expect((await api.get('/tenants')).body.data.tenants).toMatchObject([{ tenant_id: 'old', status: 'ready' }]);
    await api.ingest({ tenant_id: 'old', sub_tenant_id: 'attic', memories: '[{"id":"m","text":"An old note."}]' });
    await api.ended('old', 'm');
    expect((await api.get('/tenants/old/collections')).body.data).toEqual({
      tenant_id: 'old',
      sub_tenants: [{ sub_tenant_id: 'attic', items: 1 }],
      count: 1,
    });
    expect((await api.get('/tenants/old/stats')).body.data).toMatchObject({ tenant_id: 'old', items: 1 });
    const changed = await api.request('PATCH', '/tenants/old/metadata-schema', {
      json: { database_metadata_schema: [{ name: 'year', data_type: 'INT32' }] },
    });
    expect([changed.status, changed.body]).toMatchObject([200, { tenant_id: 'old' }]);
    expect((await api.del('/tenants/old')).body.data).toEqual({ tenant_id: 'old', status: 'deleting' });
    await eventually('deleted', async () => (await api.get('/tenants/status?tenant_id=old')).status === 404);
  });

  test('error codes depend on the route, not on the field names', async () => {
    await api.post('/databases', { database: 'existing' });
    expect(statusAndCode(await api.post('/tenants', { tenant_id: 'existing' }))).toEqual([409, 'INVALID_INPUT']);
    expect(statusAndCode(await api.post('/databases', { tenant_id: 'existing' }))).toEqual([
      409,
      'DATABASE_ALREADY_EXISTS',
    ]);
    for (const path of ['status?tenant_id=none', 'none/stats', 'none/collections']) {
      expect(statusAndCode(await api.get(`/tenants/${path}`))).toEqual([404, 'NOT_FOUND']);
    }
    expect(statusAndCode(await api.del('/tenants/none'))).toEqual([404, 'NOT_FOUND']);
    expect(statusAndCode(await api.get('/databases/status?tenant_id=none'))).toEqual([404, 'DATABASE_NOT_FOUND']);
    expect(statusAndCode(await api.get('/databases/none/stats'))).toEqual([404, 'DATABASE_NOT_FOUND']);
    const patched = { json: { database_metadata_schema: [{ name: 'a', data_type: 'BOOL' }] } };
    expect(statusAndCode(await api.request('PATCH', '/tenants/none/metadata-schema', patched))).toEqual([
      404,
      'NOT_FOUND',
    ]);
  });

  test('every response of /tenants, and no other, has the deprecation headers', async () => {
    const responses = [
      await api.get('/tenants'),
      await api.get('/tenants/none/stats'),
      await api.post('/tenants', {}),
      await api.get('/tenants/no/such/route'),
      await api.request('GET', '/tenants', { headers: { Authorization: 'Bearer nonsense' } }),
      await api.request('GET', '/tenants', { headers: { 'API-Version': '1' } }),
    ];
    for (const { headers } of responses) {
      expect(headers.get('deprecation')).toMatch(/^@\d+$/);
      expect(headers.get('link')).toContain('</databases');
    }
    expect((await api.get('/databases')).headers.get('deprecation')).toBeNull();
  });

  test('deprecated field names are accepted in bodies, queries and forms; current names win', async () => {
    await api.createDatabase('mixed');
    const sent = await api.ingest({
      tenant_id: 'elsewhere',
      database: 'mixed',
      sub_tenant_id: 'cellar',
      memories: '[{"id":"wine","text":"The wine is in the cellar."}]',
    });
    expect(sent.status).toBe(202);
    await api.ended('mixed', 'wine');
    const status = await api.get('/context/status?tenant_id=mixed&sub_tenant_id=cellar&id=wine');
    expect(status.body.data.statuses[0]).toMatchObject({ id: 'wine', indexing_status: 'completed' });
    expect(statusAndCode(await api.get('/context/status?tenant_id=mixed&sub_tenant_id=roof&id=wine'))[0]).toBe(404);
    const results = await api.post('/query', { tenant_id: 'mixed', sub_tenant_id: 'cellar', query: 'wine' });
    expect(results.body.data.chunks[0]).toMatchObject({ source_id: 'wine', collection: 'cellar' });
  });
});
