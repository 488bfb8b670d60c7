import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from './support/eventually.js';
import { type OwnProduct, startOwnProduct } from './support/own-product.js';
import { withDb } from './support/product.js';
import { deliveryRecord } from './support/records.js';

// Kills processes, so it starts its own product.
describe('crashes lose nothing', () => {
  const org = 'recovery';
  let own: OwnProduct;
  let product: OwnProduct['product'];
  let api: OwnProduct['api'];
  let receiver: OwnProduct['receiver'];

  beforeAll(async () => {
    own = await startOwnProduct(org, 'crash', { POSTBACK_RECONCILE_SECONDS: '2' });
    ({ product, api, receiver } = own);
  });
  afterAll(() => own?.remove());

  const texts = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, n) => ({
      id: `${prefix}-${n}`,
      text: `Note ${n} of ${prefix}. ${'The keeper lit the lamp in the evening. '.repeat(60)}`,
    }));
  const notified = (prefix: string) =>
    new Set(receiver.received.map(({ json }) => String(json.id)).filter((id) => id.startsWith(prefix)));

  /** An item as an ingest request stores it. */
  const itemOf = (databaseId: string, id: string, indexing_status: string, check_at: Date) => ({
    _id: `itm_${id}`,
    org,
    database_id: databaseId,
    database: 'crash',
    collection: 'default',
    id,
    type: 'memory',
    version: 1,
    title: null,
    source: { kind: 'text', text: 'Nobody started me.' },
    metadata: {},
    additional_metadata: {},
    batch: `bat_${id}`,
    indexing_status,
    error_code: null,
    error_message: null,
    check_at,
    created_at: check_at,
    updated_at: check_at,
  });

  test('kill -9 of the worker during ten items: all ten complete, each with a webhook', async () => {
    await api.ingest({ database: 'crash', memories: JSON.stringify(texts('killed', 10)) });
    await eventually('an item being processed', async () => {
      const { statuses } = (
        await api.get(
          `/context/status?database=crash&ids=${texts('killed', 10)
            .map(({ id }) => id)
            .join(',')}`,
        )
      ).body.data;
      return statuses.some((status: { indexing_status: string }) => status.indexing_status === 'processing');
    });
    process.kill(product.worker.pid(), 'SIGKILL');
    for (const { id } of texts('killed', 10))
      expect(await api.ended('crash', id)).toMatchObject({ indexing_status: 'completed' });
    await eventually('ten webhooks', () => notified('killed').size === 10);
  });

  test('kill -9 of the API right after its response loses no item of a large request', async () => {
    const response = await api.ingest({ database: 'crash', memories: JSON.stringify(texts('api-killed', 40)) });
    expect(response.body.data.success_count).toBe(40);
    process.kill(product.api.pid(), 'SIGKILL');
    await eventually('forty webhooks', () => notified('api-killed').size === 40);
  });

  test('the reconciler starts the workflows of items and deliveries whose process died before it did', async () => {
    const now = new Date();
    await eventually('the API is back', async () => (await fetch(`${product.apiUrl}/healthz`)).ok);
    await withDb(product.mongodbUri, async (db) => {
      const database = await db.collection('databases').findOne({ org });
      await db.collection<{ _id: string }>('items').insertOne(itemOf(String(database!._id), 'orphan', 'queued', now));
      await db.collection<{ _id: string }>('deliveries').insertOne(deliveryRecord({ _id: 'dlv_orphan', org, now }));
    });
    await receiver.waitFor('the delivery', ({ json }) => json.delivery_id === 'dlv_orphan');
    expect(await api.ended('crash', 'orphan')).toMatchObject({ indexing_status: 'completed' });
  });

  test('kill -9 between the transaction that completes an item and the start of its delivery: the webhook arrives', async () => {
    await withDb(product.mongodbUri, async (db) => {
      const database = await db.collection('databases').findOne({ org });
      // The killed process stands in for the workflow, so the reconciler must not start it.
      const later = new Date(Date.now() + 60 * 60 * 1000);
      const item = itemOf(String(database!._id), 'torn', 'graph_creation', later);
      await db.collection<{ _id: string }>('items').insertOne(item);
      const script = fileURLToPath(new URL('./support/dies-before-start.js', import.meta.url));
      const child = fork(script, [product.mongodbUri, item._id, '1']);
      expect((await once(child, 'exit'))[1]).toBe('SIGKILL');
      expect(
        await db.collection<{ _id: string }>('deliveries').findOne({ dedupe_key: 'item/itm_torn/1' }),
      ).not.toBeNull();
    });
    expect(await api.status('crash', 'torn')).toMatchObject({ indexing_status: 'completed' });
    await receiver.waitFor('the webhook', ({ json }) => json.id === 'torn');
  });
});
