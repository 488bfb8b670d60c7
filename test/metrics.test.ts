import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Client, createClient } from './support/client.js';
import { eventually } from './support/eventually.js';
import { makeKey, sharedProduct } from './support/product.js';
import { type Receiver, startReceiver } from './support/receiver.js';

describe('/metrics', () => {
  const { apiUrl, workerUrl, mongodbUri } = sharedProduct();
  const org = 'measured-organisation';
  let api: Client;
  let key: Awaited<ReturnType<typeof makeKey>>;
  let receiver: Receiver;

  beforeAll(async () => {
    key = await makeKey(mongodbUri, org);
    api = createClient(apiUrl, key.key);
    receiver = await startReceiver();
  });
  afterAll(() => receiver.close());

  const scrape = async (url: string) => (await fetch(`${url}/metrics`)).text();
  /** The value of a sample; 0 when it is missing. @param labels in the order of the output */
  const sample = (text: string, name: string, labels: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name}{${labels}} `))
        ?.split(' ')
        .at(-1) ?? 0,
    );

  test('counts requests by method, route pattern and status, and needs no key', async () => {
    const countOf = async (route: string, status: number) =>
      sample(
        await scrape(apiUrl),
        'postback_http_request_duration_seconds_count',
        `method="GET",route="${route}",status="${status}"`,
      );
    const pattern = '/webhooks/indexing/deliveries/:delivery_id';
    const before = [await countOf(pattern, 404), await countOf('none', 404)];
    await api.get('/webhooks/indexing/deliveries/dlv_one');
    await api.get('/webhooks/indexing/deliveries/dlv_two');
    await api.get('/measured/nowhere');
    expect(await countOf(pattern, 404)).toBeGreaterThanOrEqual(before[0]! + 2);
    expect(await countOf('none', 404)).toBeGreaterThan(before[1]!);
    const response = await fetch(`${apiUrl}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await response.text()).toContain('# TYPE postback_http_request_duration_seconds histogram');
  });

  test('contains no organisation, no key and no client data', async () => {
    const text = await scrape(apiUrl);
    expect(text).toContain('process_resident_memory_bytes');
    for (const secret of [org, key.record._id, key.key, 'dlv_one', 'measured/nowhere'])
      expect(text).not.toContain(secret);
  });

  test('of a worker counts finished items and delivery attempts by outcome', async () => {
    await api.createDatabase('measured');
    await api.post('/webhooks/indexing', { url: receiver.url });
    const before = await scrape(workerUrl);
    await api.ingest({ database: 'measured', memories: '[{"id":"m","text":"Something to count."}]' });
    await eventually('item and delivery counted', async () => {
      const now = await scrape(workerUrl);
      const grown = (name: string, labels: string) => sample(now, name, labels) > sample(before, name, labels);
      return (
        grown('postback_items_finished_total', 'status="completed"') &&
        grown('postback_delivery_attempts_total', 'outcome="delivered"')
      );
    });
    expect(await (await fetch(`${workerUrl}/healthz`)).json()).toEqual({ status: 'ok' });
    // On a busy machine a probe can time out.
    const ready = await eventually('ready', async () => {
      const response = await fetch(`${workerUrl}/readyz`);
      return response.status === 200 && response.json();
    });
    expect(ready).toMatchObject({ status: 'ready', temporal: true, mongodb: true });
  });
});
