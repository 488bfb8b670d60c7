import type { HostileCase, Target } from './case.js';
import { JSON_TYPE, send, sendField } from './send.js';

/** A case that sends one text field of an ingest request. */
const field = (what: string, name: string, text: () => string): HostileCase => ({
  name: `field: ${what}`,
  prepare(target) {
    const value = text();
    return () => sendField(target, name, value);
  },
});

/** A case that sends one JSON body. */
const body = (what: string, path: string, text: (target: Target) => string): HostileCase => ({
  name: `body: ${what}`,
  prepare(target) {
    const value = text(target);
    return () => send(target, 'POST', path, value, JSON_TYPE);
  },
});

/** A query with more fields, as JSON text. */
const query = (what: string, fields: () => string) =>
  body(what, '/query', ({ database }) => `{"database":"${database}","query":"the lamp",${fields()}}`);
const nested = (depth: number, open: string, close: string) => `${open.repeat(depth)}1${close.repeat(depth)}`;
const list = (count: number, element: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => element(n)).join(',');
const job = (parameters: () => string) => () =>
  `{"model":"text/language_detection/eld","input":{"text":"The lamp."},"user_webhook_parameters":${parameters()}}`;

/** A case that sends the longest texts that a request may have, and deletes their items again. */
const longest = (what: string, character: string, headers: Record<string, string> = {}): HostileCase => ({
  name: `field: the longest texts, ${what}`,
  prepare(target) {
    const length = Math.min(2_000_000, Math.floor(32_000_000 / Buffer.byteLength(character)));
    const ids = Array.from(
      { length: Math.floor(32_000_000 / Buffer.byteLength(character) / length) },
      (_, n) => `${n}`,
    );
    const value = `[${ids.map((id) => `{"id":"long-${id}","text":"${character.repeat(length)}"}`).join(',')}]`;
    return async () => {
      const response = await sendField(target, 'memories', value, headers);
      const { database } = target;
      const deleted = JSON.stringify({ database, ids: ids.map((id) => `long-${id}`) });
      await send(target, 'DELETE', '/context', deleted, JSON_TYPE);
      return response;
    };
  },
});

/** JSON in fields of forms, and as bodies. */
export const FIELD_CASES: readonly HostileCase[] = [
  field('2 million empty memories', 'memories', () => `[${list(2_000_000, () => '{}')}]`),
  field('1 million zeros as app_knowledge', 'app_knowledge', () => `[${list(1_000_000, () => '0')}]`),
  field(
    '5,000 memories with 40 keys, one invalid',
    'memories',
    () => `[${list(4_999, () => `{"text":"x","metadata":{${list(40, (n) => `"k${n}":${n}`)}}}`)},{}]`,
  ),
  field('30 MB of opening brackets', 'memories', () => '['.repeat(30_000_000)),
  field('30 MB of quotes and backslashes', 'memories', () => `["${'\\"'.repeat(15_000_000)}"]`),
  field('a string of 30 MB', 'memories', () => `[{"text":"${'x'.repeat(30_000_000)}"}]`),
  {
    name: 'field: a string of 30 MB with an Idempotency-Key',
    prepare(target) {
      const value = `[{"text":"${'x'.repeat(30_000_000)}"}]`;
      return () => sendField(target, 'memories', value, { 'Idempotency-Key': 'large' });
    },
  },
  longest('ASCII', 'x'),
  longest('Chinese', '図'),
  longest('escapes', '\\u56f3'),
  longest('control characters', '\\u0001'),
  longest('with an Idempotency-Key', '\\"', { 'Idempotency-Key': 'longest' }),
  field('conversations with 25,000 values each', 'memories', () => {
    const pairs = list(8_000, (n) => `{"user":"${n}","assistant":""}`);
    return `[${list(9, () => `{"user_assistant_pairs":[${pairs}]}`)},{}]`;
  }),
  field('30 MB of white space', 'memories', () => `[${' '.repeat(30_000_000)}]`),
  field('a key of 30 MB', 'memories', () => `[{"${'k'.repeat(30_000_000)}":1}]`),
  field('a number of 10 million digits', 'memories', () => `[${'9'.repeat(10_000_000)}]`),
  field('200,000 keys in one object', 'memories', () => `[{${list(200_000, (n) => `"k${n}":0`)}}]`),
  field('metadata of __proto__', 'memories', () => `[{"text":"","metadata":${nested(90, '{"__proto__":', '}')}}]`),
  field(
    '4,999 ids of 200 bytes, one repeated',
    'memories',
    () => `[${list(5_000, (n) => `{"id":"${String(n % 4_999).padStart(200, 'i')}","text":"x"}`)}]`,
  ),
  body('nested 500,000 deep', '/query', () => nested(500_000, '[', ']')),
  body('25,000 keys', '/query', () => `{${list(25_000, (n) => `"k${n}":0`)}}`),
  body('90,000 keys', '/query', () => `{${list(90_000, (n) => `"k${n}":0`)}}`),
  body('50,000 duplicate keys', '/query', () => `{${list(50_000, () => '"database":"x"')}}`),
  query('metadata_filters nested 95 deep', () => `"metadata_filters":${nested(95, '{"$not":', '}')}`),
  query('metadata_filters of 90,000 alternatives', () => `"metadata_filters":{"$or":[${list(90_000, () => '{}')}]}`),
  query('90,000 ids', () => `"ids":[${list(90_000, (n) => `"${n}"`)}]`),
  body('a query of 1 MB', '/query', ({ database }) => JSON.stringify({ database, query: 'lamp '.repeat(200_000) })),
  body('a query of 100,000 quotes and operators', '/query', ({ database }) =>
    JSON.stringify({ database, query: '"( AND OR NOT )" '.repeat(10_000) }),
  ),
  body('a name of 1 MB for a pattern', '/databases', () => JSON.stringify({ database: `${'a-'.repeat(500_000)}!` })),
  body(
    'a schema with 90,000 fields',
    '/databases',
    () =>
      `{"database":"many","tenant_metadata_schema":[${list(30_000, (n) => `{"name":"f${n}","data_type":"VARCHAR"}`)}]}`,
  ),
  body('a webhook URL of 1 MB', '/webhooks/indexing', () => JSON.stringify({ url: `https://${'a.'.repeat(500_000)}` })),
  body(
    'canonical JSON of 25,000 keys',
    '/v3/ai/async',
    job(() => `{${list(25_000, (n) => `"k${25_000 - n}":${n}`)}}`),
  ),
  body(
    'canonical JSON of 90,000 keys',
    '/v3/ai/async',
    job(() => `{${list(40_000, (n) => `"k${40_000 - n}":${n}`)}}`),
  ),
  body(
    'canonical JSON nested 95 deep',
    '/v3/ai/async',
    job(() => nested(95, '{"a":', '}')),
  ),
  body(
    'canonical JSON of huge numbers',
    '/v3/ai/async',
    job(() => `{"a":[${list(500, () => '1e400000')}]}`),
  ),
  body('a job with a text of 900 kB', '/v3/ai/async', () =>
    JSON.stringify({ model: 'text/language_detection/eld', input: { text: 'aé '.repeat(250_000) } }),
  ),
];
