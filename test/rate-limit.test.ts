import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Client, createClient } from './support/client.js';
import { eventually } from './support/eventually.js';
import { makeKey, sharedProduct, startApi } from './support/product.js';

describe('the rate limit of a key', () => {
  const { mongodbUri } = sharedProduct();
  let limited: Awaited<ReturnType<typeof startApi>>;

  beforeAll(async () => {
    limited = await startApi(sharedProduct(), { POSTBACK_RATE_LIMIT_PER_MINUTE: '5', POSTBACK_RATE_LIMIT_BURST: '4' });
  });
  afterAll(() => limited.stop());

  const newClient = async (): Promise<Client> =>
    createClient(limited.apiUrl, (await makeKey(mongodbUri, 'limited')).key);
  /** Repeats a request that exceeds the burst: it does not count in the minute. */
  const paced = (api: Client) =>
    eventually('a response within the burst', async () => {
      const response = await api.get('/webhooks/indexing');
      return (response.status !== 429 || response.headers.get('ratelimit') !== null) && response;
    });

  test('is a number of requests per minute; then 429 with Retry-After', async () => {
    const api = await newClient();
    const remaining: (string | null)[] = [];
    for (let n = 0; n < 5; n++) {
      const response = await paced(api);
      expect(response.status).toBe(200);
      expect(response.headers.get('ratelimit-policy')).toBe('"minute";q=5;w=60');
      remaining.push(response.headers.get('ratelimit'));
    }
    expect(remaining).toEqual([4, 3, 2, 1, 0].map((count) => expect.stringMatching(`^"minute";r=${count};t=\\d+$`)));
    const rejected = await paced(api);
    expect([rejected.status, rejected.body.error?.code, rejected.body.success]).toEqual([429, 'RATE_LIMITED', false]);
    const wait = Number(rejected.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(1);
    expect(wait).toBeLessThanOrEqual(60);
    expect((await (await newClient()).get('/webhooks/indexing')).status).toBe(200);
  });

  test('also limits bursts; rejected requests do not count in the minute', async () => {
    const api = await newClient();
    const responses = await Promise.all(Array.from({ length: 40 }, () => api.get('/webhooks/indexing')));
    const rejected = responses.filter(
      (response) => response.status === 429 && response.headers.get('ratelimit') === null,
    );
    expect(rejected.length).toBeGreaterThan(0);
    for (const response of rejected) expect(response.headers.get('retry-after')).toBe('1');
    expect(responses.filter((response) => response.status === 200).length).toBeGreaterThanOrEqual(4);
  });

  test('does not apply to health checks or to requests without a valid key', async () => {
    for (let n = 0; n < 12; n++) expect((await fetch(`${limited.apiUrl}/healthz`)).status).toBe(200);
    const unknown = createClient(limited.apiUrl, 'pbk_api_unknown_unknown_unknown');
    for (let n = 0; n < 12; n++) expect((await unknown.get('/webhooks/indexing')).status).toBe(401);
  });
});
