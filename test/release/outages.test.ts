import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Client, createClient } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { createJobClient, type JobClient } from '../support/job-client.js';
import { clientOf, registeredReceiver } from '../support/organisation.js';
import { databaseBeside, makeKey, type Product, sharedProduct, startProcesses, withDb } from '../support/product.js';
import { type ServerProxy, startProxy } from '../support/proxy.js';
import type { Receiver } from '../support/receiver.js';

// Uses the shared servers through connections that can be cut, with its own processes, namespace and database.
describe('an outage', () => {
  const shared = sharedProduct();
  let product: Product;
  let mongodb: ServerProxy;
  let temporal: ServerProxy;
  let api: Client;
  let jobs: JobClient;

  beforeAll(async () => {
    const uri = new URL(databaseBeside(shared.mongodbUri, 'outages'));
    mongodb = await startProxy(uri.host);
    temporal = await startProxy(shared.temporalAddress);
    const direct = uri.toString();
    // Otherwise the driver would connect to the address that the replica set announces.
    uri.searchParams.delete('replicaSet');
    uri.searchParams.set('directConnection', 'true');
    uri.host = mongodb.address;
    product = await startProcesses('outages', {
      MONGODB_URI: uri.toString(),
      TEMPORAL_ADDRESS: temporal.address,
      POSTBACK_EMBEDDINGS: 'off',
      POSTBACK_RECONCILE_SECONDS: '2',
    });
    const { key } = await makeKey(direct, 'outages');
    api = createClient(product.apiUrl, key);
    jobs = createJobClient(product.apiUrl, key);
  });
  afterAll(async () => {
    await product?.remove();
    await mongodb?.close();
    await temporal?.close();
  });

  /** Waits, because on a busy machine a probe can time out. */
  const reportsReady = (parts: { mongodb: boolean; temporal: boolean }) =>
    Promise.all(
      [product.apiUrl, product.workerUrl].map((url) =>
        eventually(`${url}: ${JSON.stringify(parts)}`, async () => {
          const response = await fetch(`${url}/readyz`);
          const { mongodb, temporal } = (await response.json()) as typeof parts;
          expect(response.status).toBe(mongodb && temporal ? 200 : 503);
          return mongodb === parts.mongodb && temporal === parts.temporal;
        }),
      ),
    );

  test('of MongoDB: requests get 503 with Retry-After in the shape of each service, and succeed again without a restart', async () => {
    const { pid } = product.api;
    const before = pid();
    mongodb.cut();
    const rejected = await api.get('/webhooks/indexing');
    expect([rejected.status, rejected.body.error?.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
    const job = await jobs.submit('text/language_detection/eld', { text: 'Good morning to all of you.' });
    expect([job.status, job.body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    await reportsReady({ mongodb: false, temporal: true });
    expect((await fetch(`${product.apiUrl}/healthz`)).status).toBe(200);
    mongodb.restore();
    await eventually('the API responds again', async () => (await api.get('/webhooks/indexing')).status === 200);
    expect(pid()).toBe(before);
  });

  test('of Temporal: work is accepted, and done when Temporal is available again', async () => {
    await api.createDatabase('kept');
    const receiver = await registeredReceiver(api);
    const memories = JSON.stringify(Array.from({ length: 30 }, (_, n) => ({ id: `n${n}`, text: `Note ${n}.` })));
    await api.ingest({ database: 'kept', memories, upsert: 'true' });
    for (let n = 0; n < 30; n += 1) await api.ended('kept', `n${n}`);
    temporal.cut();
    await reportsReady({ mongodb: true, temporal: false });
    const submitted = await jobs.submit('text/language_detection/eld', { text: 'Good morning to all of you.' });
    expect(submitted.status).toBe(202);
    expect((await jobs.get(`/v3/ai/async/${submitted.body.job_id}`)).body).toMatchObject({ status: 'queued' });
    // Each of these items has a delivery. Waiting for thirty starts of workflows would take minutes.
    const sentAgain = await api.ingest({ database: 'kept', memories, upsert: 'true' });
    expect(sentAgain.body.data.results).toEqual(
      Array.from({ length: 30 }, (_, n) => ({ id: `n${n}`, status: 'completed', unchanged: true })),
    );
    temporal.restore();
    const count = () => new Set(receiver.received.map(({ json }) => json.delivery_id)).size;
    await eventually('sixty webhooks', () => count() === 60);
    expect(await jobs.finished(submitted)).toMatchObject({ status: 'success', output: { language: 'en' } });
    await reportsReady({ mongodb: true, temporal: true });
    await receiver.close();
  });

  describe('of files or of the search index', () => {
    let api: Client;
    let receiver: Receiver;

    beforeAll(async () => {
      api = await clientOf('storage-outage', product);
      receiver = await registeredReceiver(api);
      await api.createDatabase('fragile');
    });
    afterAll(() => receiver?.close());

    /** @returns a function that restores the index */
    function removeIndex(): () => void {
      const folder = join(product.dataDir, 'index');
      // A file replaces the folder, because the next write would create a missing folder again.
      renameSync(folder, `${folder}.removed`);
      writeFileSync(folder, 'not a folder');
      return () => {
        rmSync(folder);
        renameSync(`${folder}.removed`, folder);
      };
    }

    async function recovers(id: string, restore: () => Promise<void> | void): Promise<void> {
      const waiting = await eventually('E6001', async () => {
        const status = await api.status('fragile', id);
        return status.error_code === 'E6001' && status;
      });
      expect(['processing', 'graph_creation']).toContain(waiting.indexing_status);
      expect(receiver.received.filter(({ json }) => json.id === id)).toEqual([]);
      await restore();
      expect(await api.ended('fragile', id)).toMatchObject({
        indexing_status: 'completed',
        error_code: null,
        error_message: null,
      });
      const { json } = await receiver.waitFor('the webhook', ({ json }) => json.id === id);
      expect(json).toMatchObject({ status: 'completed' });
      expect(json).not.toHaveProperty('error_code');
    }

    test('the search index: items show E6001, and complete when it is back', async () => {
      const restore = removeIndex();
      await api.ingest({ database: 'fragile', memories: '[{"id":"unindexed","text":"Where is the index?"}]' });
      await recovers('unindexed', restore);
      expect(await api.idsFound('fragile', 'Where is the index?')).toEqual(['unindexed']);
    });

    test('the search index: metadata updates are accepted, and reach the filters when it is back', async () => {
      await api.request('PATCH', '/databases/fragile/metadata-schema', {
        json: { database_metadata_schema: [{ name: 'shelf', data_type: 'INT8' }] },
      });
      await api.ingest({ database: 'fragile', memories: '[{"id":"moved","text":"A book.","metadata":{"shelf":1}}]' });
      await api.ended('fragile', 'moved');
      const onShelf = (shelf: number) => api.idsFound('fragile', 'book', { metadata_filters: { shelf } });
      expect(await onShelf(1)).toEqual(['moved']);
      const restore = removeIndex();
      const changed = await api.request('PATCH', '/context/moved', {
        json: { database: 'fragile', metadata: { shelf: 2 } },
      });
      expect([changed.status, changed.body.data.metadata]).toEqual([200, { shelf: 2 }]);
      restore();
      await eventually('the filter finds the new value', async () => (await onShelf(2))?.length === 1);
      expect(await onShelf(1)).toEqual([]);
    });

    test('the file store: items show E6001, and complete when it is back', async () => {
      // The worker is paused until the file is removed.
      process.kill(product.worker.pid(), 'SIGSTOP');
      await api.ingest({ database: 'fragile', document_metadata: '[{"id":"unread"}]' }, [
        { name: 'note.txt', content: 'Where is the file?' },
      ]);
      await withDb(product.mongodbUri, (db) => db.collection('files.files').rename('files.removed'));
      process.kill(product.worker.pid(), 'SIGCONT');
      await recovers('unread', async () => {
        await withDb(product.mongodbUri, (db) =>
          db.collection('files.removed').rename('files.files', { dropTarget: true }),
        );
      });
    });
  });
});
