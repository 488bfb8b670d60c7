import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import type { DeliveryRecord } from '../storage/webhooks/deliveries.js';
import { connectorsOf } from './support/connectors.js';
import { duringTests, processesDuringTests } from './support/during-tests.js';
import { eventually } from './support/eventually.js';
import { createJobClient } from './support/job-client.js';
import { ODD_ANSWERS, startOddServers } from './support/odd-answers.js';
import { clientOf, registeredReceiver } from './support/organisation.js';
import { makeKey, withDb } from './support/product.js';
import { deliveryRecord } from './support/records.js';

const note = (text: string) => ({ database: 'notes', memories: JSON.stringify([{ id: 'note', text }]) });

test('no answer of a server ends a process that fetches, and every request ends', async () => {
  const roads = fileURLToPath(new URL('./support/odd-roads.js', import.meta.url));
  // Fails when the process ends by itself.
  const { stdout } = await promisify(execFile)(process.execPath, [roads], { maxBuffer: 1024 * 1024 });
  const ended = JSON.parse(stdout) as Record<string, Record<string, string>>;
  expect(Object.keys(ended).length).toBeGreaterThanOrEqual(12);
  const expected = Object.fromEntries(
    Object.keys(ODD_ANSWERS).map((name) => [name, expect.not.stringMatching('still open')]),
  );
  for (const ends of Object.values(ended)) expect(ends).toEqual(expected);
});

describe('odd answers to a product', () => {
  const servers = duringTests(startOddServers);
  const product = processesDuringTests('odd-answers', () => ({
    POSTBACK_DELIVERY_TIMEOUT_MS: '2000',
    POSTBACK_FETCH_TIMEOUT_SECONDS: '2',
    POSTBACK_CONNECTOR_TIMEOUT_SECONDS: '2',
    POSTBACK_JOB_TIME_LIMIT_SECONDS: '6',
    // Bodies without end are cut off here. The largest that ends has 1 MB.
    POSTBACK_MAX_FILE_BYTES: '2000000',
    POSTBACK_CONNECTOR_MAX_RESOURCE_BYTES: '2000000',
    // Pages of 300 kB would be embedded, for which no test waits.
    POSTBACK_EMBEDDINGS: 'off',
    // The second failure is final, so that each delivery ends in the test.
    POSTBACK_DELIVERY_SCHEDULE_MS: '1',
  }));

  test('end each piece of work in a clear state, no process, and no work of others', async () => {
    const processes = () => [product.api.pid(), product.worker.pid()];
    const before = processes();
    const api = await clientOf('odd', product);
    const jobs = createJobClient(product.apiUrl, (await makeKey(product.mongodbUri, 'odd')).key);
    await api.createDatabase('odd');
    const { create, sync } = connectorsOf(api, product.mongodbUri);

    const receivers = servers.urls.map(async ({ url }, n) => {
      const client = await clientOf(`odd-${n}`, product);
      expect((await client.post('/webhooks/indexing', { url })).status).toBe(200);
      expect((await client.post('/webhooks/indexing/test')).body.data).toMatchObject({ message: expect.any(String) });
      await withDb(product.mongodbUri, async (db) => {
        const delivery = deliveryRecord({ _id: `dlv_odd_${n}`, org: `odd-${n}`, now: new Date() });
        await db.collection<DeliveryRecord>('deliveries').insertOne(delivery);
      });
    });
    const files = servers.urls.map(async ({ url }) => {
      const job = await jobs.submit('document/text_extraction/local', { file: `${url}/file` });
      return jobs.finished(job);
    });
    const large = servers.urls.filter(({ name }) => name.startsWith('ends while'));
    const sources = [
      { kind: 'web', settings: { urls: servers.urls.map(({ url }) => `${url}/page`) } },
      ...large.map(({ url }) => ({ kind: 'feed', settings: { url: `${url}/feed` } })),
      ...large.map(({ url }) => ({ kind: 's3', settings: { endpoint: url, bucket: 'bucket' } })),
    ].map(async (source) => sync(await create({ database: 'odd', ...source })));

    for (const { last_sync } of await Promise.all(sources)) {
      expect(['completed', 'failed']).toContain(last_sync.status);
    }
    for (const { status } of await Promise.all(files)) expect(['success', 'fail']).toContain(status);
    await Promise.all(receivers);
    const ended = { status: { $in: ['delivered', 'permanently_failed'] } } as const;
    await eventually('all deliveries have ended', () =>
      withDb(product.mongodbUri, async (db) => {
        return (await db.collection<DeliveryRecord>('deliveries').countDocuments(ended)) === servers.urls.length;
      }),
    );

    const neighbour = await clientOf('neighbour', product);
    const receiver = await registeredReceiver(neighbour);
    await neighbour.createDatabase('notes');
    await neighbour.ingest(note('The lamp was lit at dusk.'));
    await receiver.waitFor('the webhook of a neighbour', ({ json }) => json.id === 'note');
    await receiver.close();
    expect(processes()).toEqual(before);
  });
});
