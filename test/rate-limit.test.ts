import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Client, createClient } from './support/client.js';
import { eventually } from './support/eventually.js';
import { makeKey, sharedProduct, startApi } from './support/product.js';

describe('the limit of a key', () => {
  const { mongodbUri } = sharedProduct();
  let limited: Awaited<ReturnType<typeof startApi>>;

  beforeAll(async () => {
    limited = await startApi(sharedProduct(), { POSTBACK_RATE_LIMIT_PER_MINUTE: '5', POSTBACK_RATE_LIMIT_BURST: '4' });
  });
  afterAll(() => limited.stop());

  const newClient = async (): Promise<Client> =>
    createClient(limited.apiUrl, (await makeKey(mongodbUri, 'limited')).key);
  /** Beyond the burst a request is sent again; it has cost nothing. */
  const paced = (api: Client) =>
    eventually('an answer within the burst', async () => {
      const answer = await api.get('/webhooks/indexing');
      return (answer.status !== 429 || answer.headers.get('ratelimit') !== null) && answer;
    });

  test('is a number of requests a minute; then 429 tells when to come back', async () => {
    const api = await newClient();
    const left: (string | null)[] = [];
    for (let n = 0; n < 5; n++) {
      const answer = await paced(api);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('ratelimit-policy')).toBe('"minute";q=5;w=60');
      left.push(answer.headers.get('ratelimit'));
    }
    expect(left).toEqual([4, 3, 2, 1, 0].map((rest) => expect.stringMatching(`^"minute";r=${rest};t=\\d+$`)));
    const refused = await paced(api);
    expect([refused.status, refused.body.error?.code, refused.body.success]).toEqual([429, 'RATE_LIMITED', false]);
    const wait = Number(refused.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(1);
    expect(wait).toBeLessThanOrEqual(60);
    expect((await (await newClient()).get('/webhooks/indexing')).status).toBe(200);
  });

  test('is a number of requests at once as well, and what is refused by that costs nothing of the minute', async () => {
    const api = await newClient();
    const answers = await Promise.all(Array.from({ length: 40 }, () => api.get('/webhooks/indexing')));
    const refused = answers.filter((answer) => answer.status === 429 && answer.headers.get('ratelimit') === null);
    expect(refused.length).toBeGreaterThan(0);
    for (const answer of refused) expect(answer.headers.get('retry-after')).toBe('1');
    expect(answers.filter((answer) => answer.status === 200).length).toBeGreaterThanOrEqual(4);
  });

  test('is not one of health, and nobody without a key is counted', async () => {
    for (let n = 0; n < 12; n++) expect((await fetch(`${limited.apiUrl}/healthz`)).status).toBe(200);
    const nobody = createClient(limited.apiUrl, 'pbk_api_nobody_nobody_nobody');
    for (let n = 0; n < 12; n++) expect((await nobody.get('/webhooks/indexing')).status).toBe(401);
  });
});
