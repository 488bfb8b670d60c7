import { beforeAll, describe, expect, test } from '@jest/globals';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { clientDuringTests, receiverDuringTests, temporalDuringTests } from './support/during-tests.js';
import { eventually } from './support/eventually.js';
import { hasTypes, listedWorkflows } from './support/listed-workflows.js';
import { logWith } from './support/logs.js';
import { sharedProduct, withDb } from './support/product.js';

describe('secrets stay secret', () => {
  const { mongodbUri, dataDir } = sharedProduct();
  const org = 'discreet';
  const chosen = 'chosen-secret-that-nobody-may-see';
  const content = 'The password of the lighthouse is winterberry.';
  /** Every response of the API, except those that return a secret. */
  const responses: string[] = [];
  /** The ids that the logs mention last. */
  const last = { request: '', delivery: '' };
  const secrets: string[] = [];
  const api = clientDuringTests(org);
  const receiver = receiverDuringTests();
  const temporal = temporalDuringTests();
  beforeAll(async () => {
    await api.createDatabase('vault');

    const registered = await api.post('/webhooks/indexing', { url: receiver.url, generate_signing_secret: true });
    const rotated = await api.post('/webhooks/indexing/signing-secret');
    secrets.push(api.key, registered.body.data.signing_secret, rotated.body.data.signing_secret, chosen);
    const keep = async (response: Promise<{ body: unknown }>) => responses.push(JSON.stringify((await response).body));
    await keep(api.post('/webhooks/indexing/signing-secret', { signing_secret: chosen }));
    await keep(api.post('/webhooks/indexing', { url: receiver.url, signing_secret: chosen }));
    await keep(api.post('/webhooks/indexing', { url: 'https://10.0.0.1/', signing_secret: chosen }));
    await keep(api.post('/webhooks/indexing', { url: receiver.url, signing_secret: chosen, event_types: ['none'] }));
    await keep(api.get('/webhooks/indexing'));
    await keep(api.post('/webhooks/indexing/test'));
    await keep(api.ingest({ database: 'vault', memories: JSON.stringify([{ id: 'hint', text: content }]) }));
    await receiver.waitFor('the webhook', ({ json }) => json.id === 'hint');
    const { deliveries } = (await api.get('/webhooks/indexing/deliveries')).body.data;
    const { delivery_id } = deliveries[0];
    last.delivery = delivery_id;
    await eventually('delivered', async () => {
      const { data } = (await api.get(`/webhooks/indexing/deliveries/${delivery_id}`)).body;
      return data.status === 'delivered';
    });
    await keep(api.get(`/webhooks/indexing/deliveries/${delivery_id}`));
    const status = api.get('/context/status?database=vault&id=hint');
    await keep(status);
    last.request = (await status).headers.get('x-request-id')!;
  });

  const expectNone = (text: string, unwanted = secrets) => {
    for (const secret of unwanted) expect(text).not.toContain(secret);
  };

  test('the secrets are in use: the webhook is signed, the key is accepted', () => {
    expect(secrets.map((secret) => secret.length > 20)).toEqual([true, true, true, true]);
    expect(receiver.received[0]?.headers).toHaveProperty('x-service-signature');
    expect(responses).toHaveLength(9);
  });

  test('responses contain no secrets', () => expectNone(responses.join()));

  test('the logs of API and worker contain no secrets and no content', async () => {
    for (const log of [await logWith(dataDir, 'api', last.request), await logWith(dataDir, 'worker', last.delivery)])
      expectNone(log, [...secrets, content]);
  });

  test('the database contains no secrets, not even encoded', async () => {
    await withDb(mongodbUri, async (db) => {
      const collections = (await db.collections()).filter(({ collectionName }) => collectionName !== 'files.chunks');
      const documents = await Promise.all(collections.map((collection) => collection.find().toArray()));
      // Binary fields are printed as base64.
      const bytes = JSON.stringify(documents);
      expect(bytes).toContain(content);
      const encoded = secrets.flatMap((secret) => [Buffer.from(secret).toString('base64').slice(0, -4), secret]);
      expectNone(bytes, encoded);
    });
  });

  test('the histories of the workflows contain no secrets, no content and no addresses', async () => {
    let histories = '';
    const query = `PostbackOrganisation="${org}"`;
    const complete = hasTypes('provisionDatabase', 'indexItems', 'deliverWebhook');
    for (const { workflowId, runId } of await listedWorkflows(temporal, query, complete)) {
      histories += historyToJSON(await temporal.workflow.getHandle(workflowId, runId).fetchHistory());
    }
    // Payloads are base64 inside the JSON.
    const payloads = [...histories.matchAll(/"data": ?"([A-Za-z0-9+/=]+)"/g)].map(([, data]) =>
      Buffer.from(data!, 'base64').toString(),
    );
    expect(payloads.join()).toContain('dlv_');
    expectNone(histories + payloads.join(), [...secrets, content, receiver.url]);
  });
});
