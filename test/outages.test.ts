import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Client, createClient } from './support/client.js';
import { eventually } from './support/eventually.js';
import { createJobClient, type JobClient } from './support/job-client.js';
import { registeredReceiver } from './support/organisation.js';
import { databaseBeside, makeKey, type Product, sharedProduct, startProcesses } from './support/product.js';
import { type ServerProxy, startProxy } from './support/proxy.js';

// Uses the shared servers through connections that can be cut, with its own processes, namespace and database.
describe('while a server is unavailable', () => {
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

  test('MongoDB: requests get 503 with Retry-After in the shape of each service, and succeed again without a restart', async () => {
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

  test('Temporal: work is accepted, and done when Temporal is available again', async () => {
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
});
