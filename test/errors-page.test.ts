import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { ERROR_STATUS } from '../domain/errors.js';
import { ITEM_ERRORS } from '../domain/extraction.js';

const page = readFileSync('docs/errors.md', 'utf8');

test('docs/errors.md has each error of requests with its status, when it occurs and what to do', () => {
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` +\| (\d{3}) +\| (.+?) +\| (.+?) +\|$/gm)];
  expect(Object.fromEntries(rows.map(([, code, status]) => [code, Number(status)]))).toEqual(ERROR_STATUS);
  expect(rows.length).toBe(Object.keys(ERROR_STATUS).length);
});

test('docs/errors.md has each error of items', () => {
  const rows = [...page.matchAll(/^\| `(E\d{4})` +\| .+? +\| .+? +\|$/gm)];
  expect(rows.map(([, code]) => code)).toEqual(Object.keys(ITEM_ERRORS));
});
