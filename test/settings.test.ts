import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { settingsSchema } from '../runtime/config.js';

/** Where the default is a path of the installation, the page says it in words. */
const IN_WORDS = { POSTBACK_CREWS_DIR: '`crews/` of the project' };

test('docs/settings.md tells of every setting, with its default, and of no other', () => {
  const page = readFileSync('docs/settings.md', 'utf8');
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` +\| (.*?) *\|/gm)].map(([, name, value]) => [name!, value!] as const);
  const { properties } = z.toJSONSchema(settingsSchema, { io: 'input' });
  const settings = Object.entries(properties!).map(([name, schema]) => {
    const value = (schema as { default?: unknown }).default;
    return [name, value === undefined || value === '' ? '' : `\`${value}\``] as const;
  });
  expect(new Map(rows)).toEqual(new Map([...settings, ...Object.entries(IN_WORDS)]));
  expect(rows.length).toBe(settings.length);
});
