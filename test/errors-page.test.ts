import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { NOT_SENT } from '../activities/webhooks/callback.js';
import { ERROR_STATUS } from '../domain/errors.js';
import { ITEM_ERRORS } from '../domain/extraction.js';
import { createClient } from './support/client.js';
import { createJobClient } from './support/job-client.js';
import { clientOf } from './support/organisation.js';
import { makeKey, sharedProduct } from './support/product.js';

const page = readFileSync('docs/errors.md', 'utf8');
const { apiUrl, mongodbUri } = sharedProduct();
/** Status by code, as the page has it. */
const listed = new Map(
  [...page.matchAll(/^\| `([A-Z_]+)` +\| (\d{3}) /gm)].map(([, code, status]) => [code!, Number(status)]),
);

test('docs/errors.md has the status of each error that the running API documents', async () => {
  const document = (await (await fetch(`${apiUrl}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>;
  };
  const documented = Object.entries(document.paths)
    // They keep the names of an earlier version, and this route the statuses of the specification.
    .filter(([path]) => !path.startsWith('/tenants') && !path.endsWith('/metadata-schema'))
    .flatMap(([, methods]) => Object.values(methods).flatMap(({ responses }) => Object.entries(responses)))
    .flatMap(([status, { description }]) =>
      [...description.matchAll(/`([A-Z_]{6,})`/g)].map(([, code]) => [code!, Number(status)] as const),
    );
  expect(documented.length).toBeGreaterThan(100);
  for (const [code, status] of documented) expect([code, status]).toEqual([code, listed.get(code)]);
});

test('docs/errors.md says what the running API answers', async () => {
  const api = await clientOf('errors-page');
  const jobs = createJobClient(apiUrl, (await makeKey(mongodbUri, 'errors-page')).key);
  await api.createDatabase('errors');
  const answers: [code: string, answer: Promise<{ status: number; body: { error?: { code: string } | null } }>][] = [
    ['INVALID_PARAMETERS', api.get('/databases?nobody_knows=1')],
    ['INVALID_PARAMETERS', api.get('/databases?limit=abc')],
    ['INVALID_PARAMETERS', api.post('/query', { database: 'errors' })],
    ['VALIDATION_ERROR', api.post('/query', { database: 'errors', query: 'x', nobody_knows: 1 })],
    ['FILE_NOT_FOUND', api.get('/context/status?database=errors&id=none')],
    ['FILE_NOT_FOUND', jobs.submit('ocr/ocr_async/tesseract', { file: 'fil_none' }) as never],
    ['DATABASE_NOT_FOUND', api.get('/context/list?database=none')],
    ['METHOD_NOT_ALLOWED', api.request('PUT', '/query')],
    ['UNAUTHORIZED', createClient(apiUrl, 'none').get('/usage')],
  ];
  for (const [code, answer] of answers) {
    const { status, body } = await answer;
    expect([body.error?.code, status]).toEqual([code, listed.get(code)]);
  }
});

test('docs/errors.md has the shape of the errors of each service, as the running API sends them', async () => {
  const shapes = new Map(
    [...page.matchAll(/^\| (content[^|]*|AI jobs[^|]*|crews|payments) *\| `(\{.*?\})`/gm)].map((row) => [
      row[1]!.trim(),
      row[2]!,
    ]),
  );
  const keysOf = async (path: string) => {
    const answer = (await (await fetch(apiUrl + path)).json()) as Record<string, unknown>;
    const inner = (value: unknown) => (typeof value === 'object' && value !== null ? Object.keys(value) : []);
    return { outer: Object.keys(answer), error: inner(answer.error) };
  };
  for (const [service, path] of [
    ['content, webhooks, `/usage`', '/databases'],
    ['AI jobs', '/v3/ai/models'],
    ['crews', '/crews'],
    ['payments', '/authentication/auth_1'],
  ] as const) {
    const { outer, error } = await keysOf(path);
    const named = shapes
      .get(service)!
      .match(/"(\w+)"/g)!
      .map((name) => name.slice(1, -1));
    expect([service, [...outer, ...error].sort()]).toEqual([service, named.sort()]);
  }
  expect(await keysOf('/usage')).toEqual(await keysOf('/databases'));
});

test('docs/errors.md has each error of requests with its status, when it occurs and what to do', () => {
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` +\| (\d{3}) +\| (.+?) +\| (.+?) +\|$/gm)];
  expect(Object.fromEntries(rows.map(([, code, status]) => [code, Number(status)]))).toEqual(ERROR_STATUS);
  expect(rows.length).toBe(Object.keys(ERROR_STATUS).length);
});

test('docs/errors.md has each error of items', () => {
  const rows = [...page.matchAll(/^\| `(E\d{4})` +\| .+? +\| .+? +\|$/gm)];
  expect(rows.map(([, code]) => code)).toEqual(Object.keys(ITEM_ERRORS));
});

test('docs/errors.md has each reason for which a delivery is not sent', () => {
  const section = page.slice(page.indexOf('## Errors of deliveries'), page.indexOf('## Errors of the command line'));
  const codes = [...section.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell]) => cell!.match(/[A-Z]+(?:_[A-Z]+)*/g));
  expect(codes).toEqual(expect.arrayContaining([...NOT_SENT]));
});
