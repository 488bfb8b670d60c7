import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { msToTs } from '@temporalio/common/lib/time.js';
import { connectTemporal } from '../temporal/connection.js';
import { type Client, createClient } from './support/client.js';
import { eventually } from './support/eventually.js';
import { createJobClient, type JobClient } from './support/job-client.js';
import { databaseBeside, makeKey, type Product, sharedProduct, startProduct } from './support/product.js';
import { type ServerProxy, startProxy } from './support/proxy.js';

const NAMESPACE = 'outages';

// The servers are the shared ones, reached over connections that can be cut; processes, namespace and database are its own.
describe('when a server is away', () => {
  const shared = sharedProduct();
  let product: Product;
  let mongodb: ServerProxy;
  let temporal: ServerProxy;
  let api: Client;
  let jobs: JobClient;

  beforeAll(async () => {
    const client = await connectTemporal(shared.temporalAddress, NAMESPACE);
    await client.workflowService.registerNamespace({
      namespace: NAMESPACE,
      workflowExecutionRetentionPeriod: msToTs('1 day'),
    });
    await eventually('the namespace', () => client.workflowService.describeNamespace({ namespace: NAMESPACE }));
    await client.connection.close();
    const uri = new URL(databaseBeside(shared.mongodbUri, 'outages'));
    mongodb = await startProxy(uri.host);
    temporal = await startProxy(shared.temporalAddress);
    const direct = uri.toString();
    // Without this the driver would go to the address that the replica set names itself by.
    uri.searchParams.delete('replicaSet');
    uri.searchParams.set('directConnection', 'true');
    uri.host = mongodb.address;
    product = await startProduct({
      MONGODB_URI: uri.toString(),
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: NAMESPACE,
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

  const ready = () => fetch(`${product.apiUrl}/readyz`);
  /** On a busy machine a probe that is to succeed may take longer than a probe waits. */
  const tells = (parts: { mongodb: boolean; temporal: boolean }) =>
    eventually(JSON.stringify(parts), async () => {
      const answer = await ready();
      const { mongodb, temporal } = (await answer.json()) as typeof parts;
      expect(answer.status).toBe(mongodb && temporal ? 200 : 503);
      return mongodb === parts.mongodb && temporal === parts.temporal;
    });

  test('MongoDB: requests get 503 with Retry-After in each service’s shape, and work again without a restart', async () => {
    const { pid } = product.api;
    const before = pid();
    mongodb.cut();
    const refused = await api.get('/webhooks/indexing');
    expect([refused.status, refused.body.error?.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const job = await jobs.submit('text/language_detection/eld', { text: 'Good morning to all of you.' });
    expect([job.status, job.body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    await tells({ mongodb: false, temporal: true });
    expect((await fetch(`${product.apiUrl}/healthz`)).status).toBe(200);
    mongodb.mend();
    await eventually('the API answers again', async () => (await api.get('/webhooks/indexing')).status === 200);
    expect(pid()).toBe(before);
  });

  test('Temporal: work is taken all the same, and done once it is back', async () => {
    temporal.cut();
    await tells({ mongodb: true, temporal: false });
    const submitted = await jobs.submit('text/language_detection/eld', { text: 'Good morning to all of you.' });
    expect(submitted.status).toBe(202);
    expect((await jobs.get(`/v3/ai/async/${submitted.body.job_id}`)).body).toMatchObject({ status: 'queued' });
    temporal.mend();
    expect(await jobs.finished(submitted)).toMatchObject({ status: 'success', output: { language: 'en' } });
    await tells({ mongodb: true, temporal: true });
  });
});
