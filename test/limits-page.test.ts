import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { canonicalJson } from '../domain/canonical-json.js';
import { settingsSchema } from '../runtime/config.js';
import type { Client } from './support/client.js';
import { createJobClient } from './support/job-client.js';
import { clientOf } from './support/organisation.js';
import { createMerchant, type Merchant } from './support/payments.js';
import { makeKey, sharedProduct } from './support/product.js';

/** Where the code has the limits that no single request shows: the file and the constant. */
const FIXED: Record<string, readonly [file: string, name: string]> = {
  'requests that a connection may send ahead': ['api/requests-ahead.ts', 'MAX_AHEAD'],
  'the line and the headers of a request, with its query': ['api/server.ts', 'MAX_HEADER_BYTES'],
  'a chunk': ['domain/content/chunking.ts', 'MAX_WORDS'],
  'the result of a job': ['activities/ai-jobs/run-ai-job.ts', 'MAX_RESULT_BYTES'],
  'tasks of a crew': ['providers/crews/schemas.ts', 'MAX_TASKS'],
  'model calls of an agent for an attempt': ['providers/crews/parse-crew.ts', 'MAX_ITERATIONS'],
  'the output of a task': ['activities/crews/run-crew.ts', 'MAX_OUTPUT_BYTES'],
  "a tool's result, as the agent sees it": ['activities/crews/tools.ts', 'MAX_RESULT_CHARACTERS'],
  'a page that an agent fetches': ['activities/crews/fetch-page.ts', 'MAX_BYTES'],
  "a tool's call": ['activities/crews/tools.ts', 'MAX_TOOL_MS'],
  'callbacks of jobs with large results that a worker sends at a time': [
    'activities/ai-jobs/job-callback.ts',
    'LARGE_AT_ONCE',
  ],
  'such callbacks of one organisation': ['activities/ai-jobs/job-callback.ts', 'LARGE_OF_ONE'],
  'attempts that a delivery record shows': ['storage/webhooks/outcome-updates.ts', 'MAX_LOGGED_ATTEMPTS'],
  'bytes of a response that an attempt records': ['activities/webhooks/attempt.ts', 'MAX_RESPONSE_BYTES'],
  'addresses of a `web` connector': ['domain/connectors/connectors.ts', 'MAX_START_PAGES'],
  'links of a page': ['providers/connectors/parsing/links.ts', 'MAX_LINKS'],
  'entries of a feed': ['providers/connectors/parsing/feed.ts', 'MAX_ENTRIES'],
};

const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index));
const nested = (levels: number): object => (levels === 1 ? { level: 1 } : { level: nested(levels - 1) });

type Answer = Promise<{ status: number }>;
interface Clients {
  api: Client;
  jobs: ReturnType<typeof createJobClient>;
  merchant: Merchant;
}
const query = ({ api }: Clients, body: object): Answer =>
  api.post('/query', { database: DATABASE, query: 'x', ...body });
const filter = (clients: Clients, metadata_filters: object): Answer => query(clients, { metadata_filters });
const register = ({ api }: Clients, body: object): Answer =>
  api.post('/webhooks/indexing', { url: 'https://example.com/', ...body });
const memory = ({ api }: Clients, body: object): Answer =>
  api.ingest({ database: DATABASE, upsert: 'true', memories: JSON.stringify([{ id: 'limits', text: 'x', ...body }]) });
/** A JSON body of so many bytes. */
const padded = (body: object, bytes: number) => JSON.stringify(body).padEnd(bytes);

const DATABASE = 'limits';
const JSON_TYPE = { 'Content-Type': 'application/json' };
/** A request that is as large as a limit allows, by limit. */
const REQUESTS: Record<string, (clients: Clients, size: number) => Answer> = {
  'a JSON body': ({ api }, size) =>
    api.request('POST', '/query', { body: padded({ database: DATABASE, query: 'x' }, size), headers: JSON_TYPE }),
  'a JSON body of AI jobs': ({ jobs }, size) =>
    jobs.request('POST', '/v3/ai/async', padded({ model: 'text/language_detection/eld', input: { text: 'x' } }, size)),
  'the body of `POST /authentication`': ({ merchant }, size) =>
    merchant.server('POST', '/authentication', { body: padded({ amount: 1, currency: 'EUR' }, size) }),
  'the body of an eligibility check': async ({ merchant }, size) => {
    const { id, secret: client_secret } = await merchant.start();
    const data = { click_to_pay: { network_a: { consumerPresent: true } } };
    const body = padded({ client_secret, eligibility_check_data: data }, size);
    return merchant.browser('POST', `/authentication/${id}/eligibility-check`, { body });
  },
  'the id of an item': (clients, size) => memory(clients, { id: 'i'.repeat(size) }),
  'the text of an item': (clients, size) => memory(clients, { text: 'x'.repeat(size) }),
  '`metadata`, and `additional_metadata`, of an item': (clients, size) =>
    memory(clients, { additional_metadata: { m: 'x'.repeat(size - '{"m":""}'.length) } }),
  'levels of nested metadata': (clients, size) => memory(clients, { additional_metadata: nested(size) }),
  'fields of a metadata schema': ({ api }, size) =>
    api.post('/databases', {
      database: `limits-${size}`,
      database_metadata_schema: many(size, (index) => ({ name: `f${index}`, data_type: 'BOOL' })),
    }),
  'ids of one `DELETE /context`': ({ api }, size) =>
    api.request('DELETE', '/context', { json: { database: DATABASE, ids: many(size, (index) => `i${index}`) } }),
  'collections of a query': (clients, size) => query(clients, { collections: many(size, (index) => `c${index}`) }),
  'conditions of a metadata filter': (clients, size) =>
    filter(clients, { $or: many(size, () => ({ additional_metadata: { a: 1 } })) }),
  'values of a metadata filter': (clients, size) =>
    filter(clients, { additional_metadata: { a: many(size, (index) => index) } }),
  'levels of a metadata filter': (clients, size) =>
    filter(
      clients,
      many(size - 1, () => 0).reduce<object>((inner) => ({ $not: inner }), { additional_metadata: { a: 1 } }),
    ),
  '`meta` of a kickoff, and `user_webhook_parameters`': ({ jobs }, size) =>
    jobs.request(
      'POST',
      '/v3/ai/async',
      JSON.stringify({
        model: 'text/language_detection/eld',
        input: { text: 'x' },
        user_webhook_parameters: {
          // As payloads have it.
          p: 'x'.repeat(size - canonicalJson({ user_webhook_parameters: { p: '' } }).length),
        },
      }),
    ),
  'the address of a receiver': (clients, size) => register(clients, { url: 'https://example.com/'.padEnd(size, 'x') }),
  'static headers of a receiver': (clients, size) =>
    register(clients, { headers: Object.fromEntries(many(size, (index) => [`X-${index}`, 'x'])) }),
  'names and values of static headers, together': (clients, size) =>
    register(clients, { headers: { 'X-A': 'x'.repeat(size - 'X-A'.length) } }),
  '`max_per_second` of a registration': (clients, max_per_second) => register(clients, { max_per_second }),
};

/** Settings that bound what clients send, use or find again. */
const BOUNDS =
  /_(MAX_\w+|QUOTA_\w+|RATE_LIMIT_\w+|TIME_LIMIT_\w+|\w*PER_(MINUTE|ADDRESS)|\w*RETENTION_\w+|EVENT_\w+|IDEMPOTENCY_\w+)$/;

const page = readFileSync('docs/limits.md', 'utf8');
const rows = [...page.matchAll(/^\| ([^|]+?) +\| ([^|]+?) +\| *(?:`(POSTBACK_\w+)`)? *\|$/gm)]
  .map(([, limit, value, setting]) => ({ limit: limit!, value: value!, setting }))
  .filter(({ value }) => /\d|unlimited/.test(value));

test('docs/limits.md has the defaults of the settings, and every setting that is a bound', () => {
  const { properties } = z.toJSONSchema(settingsSchema, { io: 'input' });
  const settings = properties as Record<string, { default?: unknown }>;
  const listed = rows.filter(({ setting }) => setting !== undefined);
  for (const { setting, value } of listed) {
    expect([setting, numberOf(value)]).toEqual([setting, settings[setting!]?.default]);
  }
  const names = listed.map(({ setting }) => setting);
  const missing = Object.keys(settings).filter((name) => BOUNDS.test(name) && !names.includes(name));
  expect(missing).toEqual([]);
});

test('docs/limits.md has the fixed limits as the code has them', () => {
  const fixed = rows.filter(({ setting }) => setting === undefined);
  expect(fixed.map(({ limit }) => limit).sort()).toEqual([...Object.keys(FIXED), ...Object.keys(REQUESTS)].sort());
  for (const { limit, value } of fixed.filter(({ limit }) => limit in FIXED)) {
    expect([limit, numberOf(value)]).toEqual([limit, constant(...FIXED[limit]!)]);
  }
});

describe('the running API has the limits of docs/limits.md', () => {
  const product = sharedProduct();
  let clients: Clients;
  beforeAll(async () => {
    const { key } = await makeKey(product.mongodbUri, 'limits-page');
    clients = {
      api: await clientOf('limits-page'),
      jobs: createJobClient(product.apiUrl, key),
      merchant: await createMerchant(product, 'limits-page'),
    };
    await clients.api.createDatabase(DATABASE);
  });

  test.each(Object.keys(REQUESTS))('%s', async (limit) => {
    const size = numberOf(rows.find((row) => row.limit === limit)!.value) as number;
    // Nothing has these ids.
    const allowed = limit.includes('DELETE') ? [404] : [200, 201, 202];
    expect(allowed).toContain((await REQUESTS[limit]!(clients, size)).status);
    expect([413, 422]).toContain((await REQUESTS[limit]!(clients, size + 1)).status);
  });
});

function numberOf(text: string): number | string {
  return text === 'unlimited' ? text : Number(/[\d,]+/.exec(text)![0].replaceAll(',', ''));
}

/** The value of a constant whose declaration is a product of whole numbers. */
function constant(file: string, name: string): number | undefined {
  const [, product] =
    new RegExp(`^(?:export )?const ${name} = ([\\d_ *]+);`, 'm').exec(readFileSync(file, 'utf8')) ?? [];
  return product?.split('*').reduce((value, factor) => value * Number(factor.replaceAll('_', '')), 1);
}
