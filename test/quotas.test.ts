import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Limits, Quota } from '../domain/quotas.js';
import { createOrganisations } from '../storage/organisations.js';
import { type ApiResponse, type Client, createClient } from './support/client.js';
import { connectorsOf } from './support/connectors.js';
import { createCrewClient } from './support/crew-client.js';
import { clientDuringTests } from './support/during-tests.js';
import { eventually } from './support/eventually.js';
import { createJobClient } from './support/job-client.js';
import { testCollections } from './support/mongodb.js';
import { clientOf } from './support/organisation.js';
import { makeKey, sharedProduct, withDb } from './support/product.js';
import { html, startSite } from './support/site.js';

type UseOf = Record<Quota, { used: number; limit: number | null }>;

describe('quotas of an organisation', () => {
  const { apiUrl, mongodbUri } = sharedProduct();

  async function setLimits(org: string, limits: Partial<Limits>): Promise<void> {
    const collections = await testCollections(mongodbUri);
    await createOrganisations(collections).setLimits(org, limits);
  }

  const usageOf = async (api: Client) => (await api.get('/usage')).body.data as UseOf;
  const used = async (api: Client) => {
    const usage = Object.entries(await usageOf(api)).filter(([, quota]) => quota.used > 0);
    return Object.fromEntries(usage.map(([name, quota]) => [name, quota.used]));
  };
  const error = ({ status, body }: { status: number; body: ApiResponse['body'] }) => [status, body.error?.code];
  const notes = (api: Client, texts: Record<string, string>, fields: Record<string, string> = {}) =>
    api.ingest({
      database: 'store',
      memories: JSON.stringify(Object.entries(texts).map(([id, text]) => ({ id, text }))),
      ...fields,
    });
  const filesOf = (org: string) =>
    withDb(mongodbUri, (db) => db.collection('files.files').countDocuments({ 'metadata.org': org }));

  test('are unlimited by default, and GET /usage takes keys for the API and for crews', async () => {
    const org = 'quotas-default';
    const api = await clientOf(org);
    const unused = { used: 0, limit: null };
    const { status, body } = await api.get('/usage');
    expect([status, body.data]).toEqual([
      200,
      {
        organisation: org,
        stored_bytes: unused,
        items: unused,
        databases: unused,
        connectors: unused,
        queued_jobs: unused,
        running_crews: unused,
        uploads: unused,
        model_tokens: { ...unused, resets_at: expect.stringMatching(/T00:00:00.000Z$/) },
        ingest: {
          max_files: 100,
          max_items: 5_000,
          max_file_bytes: 104_857_600,
          max_request_bytes: 536_870_912,
          max_field_bytes: 33_554_432,
          max_text_characters: 2_097_152,
          file_extensions: expect.arrayContaining(['pdf', 'docx', 'md']),
        },
      },
    ]);
    const statusFor = async (kind: 'crew_org' | 'crew_user' | 'payment_secret') =>
      (await createClient(apiUrl, (await makeKey(mongodbUri, org, kind)).key).get('/usage')).status;
    expect([await statusFor('crew_org'), await statusFor('crew_user'), await statusFor('payment_secret')]).toEqual([
      200, 403, 403,
    ]);
  });

  describe('of content', () => {
    const org = 'quotas-content';
    const api = clientDuringTests(org);
    beforeAll(() => api.createDatabase('store'));

    test('reject a request as a whole, and only what adds to a use that is at its limit', async () => {
      await setLimits(org, { items: 3, databases: 1 });
      expect((await notes(api, { a: 'one', b: 'two' })).status).toBe(202);
      const rejected = await notes(api, { c: 'three', d: 'four' });
      expect(error(rejected)).toEqual([403, 'FORBIDDEN']);
      expect(rejected.body.error!.message).toBe(
        'The quota items of the organisation is exceeded: 2 of 3 are in use, and this request adds 2.',
      );
      expect(await used(api)).toEqual({ databases: 1, items: 2, stored_bytes: 6 });
      expect((await notes(api, { c: 'three' })).status).toBe(202);
      expect(error(await notes(api, { d: 'four' }))).toEqual([403, 'FORBIDDEN']);
      // An item that is replaced, or sent again, adds none.
      expect((await notes(api, { a: 'one', b: 'zwei' }, { upsert: 'true' })).status).toBe(202);
      expect(await used(api)).toEqual({ databases: 1, items: 3, stored_bytes: 12 });

      expect(error(await api.post('/databases', { database: 'second' }))).toEqual([403, 'FORBIDDEN']);
      expect(error(await api.post('/databases', { database: 'store' }))).toEqual([409, 'DATABASE_ALREADY_EXISTS']);
    });

    test('give back what is deleted', async () => {
      await api.ended('store', 'c');
      expect((await api.del('/context?database=store&id=c')).status).toBeLessThan(300);
      // On a busy machine, the slow measurement that rejected a request before rejects others for a while.
      await eventually('room for a note', async () => (await notes(api, { d: 'four' })).status === 202);
      expect(error(await notes(api, { e: 'five' }))).toEqual([403, 'FORBIDDEN']);
      expect((await usageOf(api)).items).toEqual({ used: 3, limit: 3 });
    });

    test('hold for requests that race', async () => {
      const before = (await usageOf(api)).items.used;
      await setLimits(org, { items: before + 5, databases: 3 });
      const ingests = await Promise.all(Array.from({ length: 20 }, (_, n) => notes(api, { [`race-${n}`]: 'x' })));
      expect(ingests.map(({ status }) => status).sort()).toEqual([...Array(5).fill(202), ...Array(15).fill(403)]);
      const creations = await Promise.all(
        Array.from({ length: 6 }, (_, n) => api.post('/databases', { database: `race-${n}` })),
      );
      expect(creations.map(({ status }) => status).sort()).toEqual([202, 202, 403, 403, 403, 403]);
      expect(await usageOf(api)).toMatchObject({ items: { used: before + 5 }, databases: { used: 3 } });
    });

    test('of bytes reject files without a trace, and count replacements by the difference', async () => {
      const { used: bytes } = (await usageOf(api)).stored_bytes;
      await setLimits(org, { items: null, stored_bytes: bytes + 100 });
      const files = await filesOf(org);
      const ingest = (size: number) =>
        api.ingest({ database: 'store', document_metadata: JSON.stringify([{ id: 'file' }]), upsert: 'true' }, [
          { name: 'file.txt', content: 'x'.repeat(size) },
        ]);
      expect(error(await ingest(101))).toEqual([403, 'FORBIDDEN']);
      expect(await filesOf(org)).toBe(files);
      expect((await ingest(90)).status).toBe(202);
      expect(error(await ingest(101))).toEqual([403, 'FORBIDDEN']);
      expect((await ingest(100)).status).toBe(202);
      expect((await usageOf(api)).stored_bytes).toEqual({ used: bytes + 100, limit: bytes + 100 });

      const key = (await makeKey(mongodbUri, org)).key;
      const upload = await createJobClient(apiUrl, key).upload('a.txt', 'one byte too many');
      expect([upload.status, upload.body.error.code]).toEqual([403, 'FORBIDDEN']);
      // The file of the first version is removed in the background.
      await eventually('one file more', async () => (await filesOf(org)) === files + 1);
    });

    test('repeats of a rejected request with an Idempotency-Key run again', async () => {
      await setLimits(org, { databases: 3, items: null, stored_bytes: null });
      const create = () =>
        api.request('POST', '/databases', { json: { database: 'again' }, headers: { 'Idempotency-Key': 'again' } });
      expect(error(await create())).toEqual([403, 'FORBIDDEN']);
      await setLimits(org, { databases: 4 });
      expect((await create()).status).toBe(202);
      expect((await create()).headers.get('idempotent-replayed')).toBe('true');
    });
  });

  test('of a sync: it fails, and a later sync adds the items', async () => {
    const org = 'quotas-sync';
    const api = await clientOf(org);
    await api.createDatabase('store');
    const site = await startSite({ '/a': html('A', 'Page a.'), '/b': html('B', 'Page b.') });
    const connectors = connectorsOf(api, mongodbUri);
    await setLimits(org, { items: 1, connectors: 1 });
    const web = { kind: 'web', database: 'store', settings: { urls: [`${site.url}/a`, `${site.url}/b`] } };
    const id = await connectors.create(web);
    expect(error(await api.post('/connectors', web))).toEqual([403, 'FORBIDDEN']);
    expect((await connectors.sync(id)).last_sync).toMatchObject({ status: 'failed', error_code: 'QUOTA_EXCEEDED' });
    expect(await used(api)).toEqual({ connectors: 1, databases: 1 });
    expect(await filesOf(org)).toBe(0);
    await setLimits(org, { items: 2 });
    expect((await connectors.sync(id)).last_sync).toMatchObject({ status: 'completed', counts: { new: 2 } });
    await api.del(`/connectors/${id}?items=remove`);
    await eventually('connector and items removed', async () => {
      const { items, connectors } = await usageOf(api);
      return items.used === 0 && connectors.used === 0;
    });
    await site.close();
  });

  test('of AI jobs, uploads and crews', async () => {
    const org = 'quotas-work';
    const api = await clientOf(org);
    const jobs = createJobClient(apiUrl, (await makeKey(mongodbUri, org)).key);
    const crew = createCrewClient(apiUrl, 'support-reply', (await makeKey(mongodbUri, org, 'crew_org')).key);
    await setLimits(org, { queued_jobs: 0, uploads: 1, running_crews: 1 });

    const submit = () => jobs.submit('text/language_detection/eld', { text: 'Guten Tag, wie geht es Ihnen?' });
    const rejected = await submit();
    expect([rejected.status, rejected.body.error]).toEqual([
      403,
      {
        code: 'FORBIDDEN',
        message: 'The quota queued_jobs of the organisation is exceeded: 0 of 0 are in use, and this request adds 1.',
        details: { quota: 'queued_jobs', used: 0, limit: 0 },
      },
    ]);
    await setLimits(org, { queued_jobs: 1 });
    expect((await jobs.finished(await submit())).status).toBe('success');
    expect((await jobs.finished(await submit())).status).toBe('success');

    expect((await jobs.upload('a.txt', 'text')).status).toBe(201);
    expect((await jobs.upload('b.txt', 'text')).body.error.code).toBe('FORBIDDEN');
    expect(await filesOf(org)).toBe(1);

    const inputs = { customer_message: 'Where is my parcel?', notes: 'Parcels take two days.' };
    const execution = await crew.start(inputs);
    const second = await crew.kickoff({ inputs });
    expect([second.status, second.body]).toEqual([
      403,
      {
        error: 'Forbidden',
        message: 'The quota running_crews of the organisation is exceeded: 1 of 1 are in use, and this request adds 1.',
        details: { quota: 'running_crews', used: 1, limit: 1 },
      },
    ]);
    await crew.reaches(execution, 'pending_human_input');
    expect(await used(api)).toEqual({ running_crews: 1, uploads: 1, stored_bytes: expect.any(Number) });
    await crew.resume(execution, { task_id: 'draft_reply', is_approve: true });
    await crew.reaches(execution, 'completed');
    expect(await used(api)).toEqual({ uploads: 1, stored_bytes: expect.any(Number) });
    await eventually('room for an execution', async () => (await crew.kickoff({ inputs })).status === 200);
  });

  test('of bytes count inputs and results of jobs and crews, and feedback, and reject each of them', async () => {
    const org = 'quotas-texts';
    const api = await clientOf(org);
    const jobs = createJobClient(apiUrl, (await makeKey(mongodbUri, org)).key);
    const crew = createCrewClient(apiUrl, 'support-reply', (await makeKey(mongodbUri, org, 'crew_org')).key);
    const bytes = async () => (await usageOf(api)).stored_bytes.used;
    /** @returns by how much the use grows */
    const growth = async (work: () => Promise<unknown>) => {
      const before = await bytes();
      await work();
      return (await bytes()) - before;
    };
    await api.createDatabase('store');
    const rate = () => api.post('/feedback', { database: 'store', query: 'where?', rating: 1, comment: 'Größe' });
    expect(await growth(rate)).toBe('where?'.length + 7);

    const input = { text: 'Guten Tag, wie geht es Ihnen? '.repeat(20) };
    const submit = () => jobs.submit('text/language_detection/eld', input);
    expect(await growth(async () => jobs.finished(await submit()))).toBeGreaterThan(JSON.stringify(input).length);

    const inputs = { customer_message: 'Where is my parcel?', notes: 'Parcels take two days.' };
    let execution = '';
    const started = await growth(async () => {
      execution = await crew.start(inputs);
      await crew.reaches(execution, 'pending_human_input');
    });
    const outputs = async () => {
      const { tasks } = (await crew.get(`/crews/support-reply/${execution}/status`)).body;
      return tasks.reduce((sum: number, { output }: { output?: string }) => sum + Buffer.byteLength(output ?? ''), 0);
    };
    expect(started).toBe(JSON.stringify(inputs).length + (await outputs()));
    expect(await outputs()).toBeGreaterThan(0);

    await setLimits(org, { stored_bytes: await bytes() });
    const resume = { task_id: 'draft_reply', is_approve: false, human_feedback: 'Shorter.' };
    for (const send of [rate, submit, () => crew.kickoff({ inputs }), () => crew.resume(execution, resume)]) {
      const { status, body } = (await send()) as { status: number; body: { error: unknown; message?: string } };
      expect([status, JSON.stringify(body)]).toEqual([403, expect.stringContaining('The quota stored_bytes')]);
    }
    await setLimits(org, { stored_bytes: null });
    expect(await growth(() => crew.resume(execution, resume))).toBeGreaterThanOrEqual('Shorter.'.length);
  });

  test('the use equals the contents after a mixed sequence of operations', async () => {
    const org = 'quotas-mixed';
    const api = await clientOf(org);
    await setLimits(org, { items: 100, stored_bytes: 100_000 });
    for (const name of ['store', 'other']) await api.createDatabase(name);
    await notes(api, { a: 'alpha', b: 'beta', c: 'gamma' });
    await api.ingest({ database: 'other', document_metadata: '[{"id":"f"},{"id":"g"}]' }, [
      { name: 'f.txt', content: 'A file about trees.' },
      { name: 'g.bin', content: new Uint8Array([0, 1, 2, 3]) },
    ]);
    await notes(api, { a: 'a much longer alpha', b: 'b' }, { upsert: 'true' });
    for (const id of ['a', 'b', 'c']) await api.ended('store', id);
    await api.request('PATCH', '/context/a', { json: { database: 'store', metadata: { year: 1 } } });
    await api.del('/context?database=store&ids=b,c');
    await notes(api, { b: 'back again' });
    const contents = async () => {
      const stats = await Promise.all(
        ['store', 'other'].map(async (name) => (await api.get(`/databases/${name}/stats`)).body.data),
      );
      const sum = (field: string) => stats.reduce((total, each) => total + (each?.[field] ?? 0), 0);
      return { databases: stats.filter(Boolean).length, items: sum('items'), stored_bytes: sum('bytes') };
    };
    expect(await used(api)).toEqual(await contents());
    expect(await used(api)).toEqual({ databases: 2, items: 3, stored_bytes: 19 + 10 + 19 });
    await api.del('/databases/store');
    await eventually('the database is deleted', async () => (await usageOf(api)).databases.used === 1);
    expect(await used(api)).toEqual({ databases: 1, items: 1, stored_bytes: 19 });
  });
});
