import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { settingsSchema } from '../runtime/config.js';
import { clientOf } from './support/organisation.js';

/** Where the code has the limits that are not settings: the file and the constant. */
const FIXED: Record<string, readonly [file: string, name: string]> = {
  'a JSON body': ['api/json-body.ts', 'MAX_JSON_BYTES'],
  'a JSON body of AI jobs': ['api/ai-jobs/service.ts', 'MAX_JSON_BYTES'],
  'the body of `POST /authentication`': ['api/payments/service.ts', 'MAX_CREATE_BYTES'],
  'the body of an eligibility check': ['api/payments/eligibility-check.ts', 'MAX_CHECK_BYTES'],
  'the id of an item': ['domain/content/ingest.ts', 'MAX_ID_BYTES'],
  'the text of an item': ['domain/content/ingest.ts', 'MAX_TEXT'],
  '`metadata`, and `additional_metadata`, of an item': ['domain/content/metadata.ts', 'MAX_METADATA'],
  'levels of nested metadata': ['domain/content/metadata.ts', 'MAX_LEVELS'],
  'fields of a metadata schema': ['domain/content/databases.ts', 'MAX_METADATA_FIELDS'],
  'ids of one `DELETE /context`': ['domain/content/items.ts', 'MAX_IDS'],
  'collections of a query': ['api/content/query.ts', 'MAX_COLLECTIONS'],
  'conditions of a metadata filter': ['domain/content/metadata-filters.ts', 'MAX_CONDITIONS'],
  'values of a metadata filter': ['domain/content/metadata-filters.ts', 'MAX_VALUES'],
  'levels of a metadata filter': ['domain/content/metadata-filters.ts', 'MAX_DEPTH'],
  'a chunk': ['domain/content/chunking.ts', 'MAX_WORDS'],
  'the result of a job': ['activities/ai-jobs/run-ai-job.ts', 'MAX_RESULT_BYTES'],
  'tasks of a crew': ['providers/crews/schemas.ts', 'MAX_TASKS'],
  'model calls of an agent for an attempt': ['providers/crews/parse-crew.ts', 'MAX_ITERATIONS'],
  'the output of a task': ['activities/crews/run-crew.ts', 'MAX_OUTPUT_BYTES'],
  "a tool's result, as the agent sees it": ['activities/crews/tools.ts', 'MAX_RESULT_CHARACTERS'],
  'a page that an agent fetches': ['activities/crews/fetch-page.ts', 'MAX_BYTES'],
  '`meta` of a kickoff, and `user_webhook_parameters`': ['api/json-body.ts', 'MAX_FIELD_LENGTH'],
  'attempts that a delivery record shows': ['storage/webhooks/outcome-updates.ts', 'MAX_LOGGED_ATTEMPTS'],
  'bytes of a response that an attempt records': ['activities/webhooks/attempt.ts', 'MAX_RESPONSE_BYTES'],
  'the address of a receiver': ['domain/webhooks/registrations.ts', 'MAX_URL_LENGTH'],
  'addresses of a `web` connector': ['domain/connectors/connectors.ts', 'MAX_START_PAGES'],
  'links of a page': ['providers/connectors/parsing/links.ts', 'MAX_LINKS'],
  'entries of a feed': ['providers/connectors/parsing/feed.ts', 'MAX_ENTRIES'],
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
  expect(fixed.map(({ limit }) => limit).sort()).toEqual(Object.keys(FIXED).sort());
  for (const { limit, value } of fixed) {
    expect([limit, numberOf(value)]).toEqual([limit, constant(...FIXED[limit]!)]);
  }
});

test('docs/limits.md has the longest address of a receiver that the API takes', async () => {
  const api = await clientOf('limits-page');
  const longest = numberOf(rows.find(({ limit }) => limit === 'the address of a receiver')!.value) as number;
  const register = (length: number) =>
    api.post('/webhooks/indexing', { url: 'https://example.com/'.padEnd(length, 'x') });
  expect((await register(longest)).status).toBe(200);
  expect((await register(longest + 1)).status).toBe(422);
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
