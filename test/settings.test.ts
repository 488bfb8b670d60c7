import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { readConfig, settingsSchema, takeConfig } from '../runtime/config.js';
import { createCallbacks } from '../worker/callbacks.js';

/** Defaults that are paths of the installation, which the page describes in words. */
const DESCRIBED_DEFAULTS = {
  POSTBACK_CREWS_DIR: '`crews/` of the project',
  POSTBACK_OCR_LANGUAGES_DIR: '`~/.cache/postback/languages`',
};

test('docs/settings.md lists exactly the settings that exist, with their defaults', () => {
  const page = readFileSync('docs/settings.md', 'utf8');
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` +\| (.*?) *\|/gm)].map(([, name, value]) => [name!, value!] as const);
  const { properties } = z.toJSONSchema(settingsSchema, { io: 'input' });
  const settings = Object.entries(properties!).map(([name, schema]) => {
    const value = (schema as { default?: unknown }).default;
    return [name, value === undefined || value === '' ? '' : `\`${value}\``] as const;
  });
  expect(new Map(rows)).toEqual(new Map([...settings, ...Object.entries(DESCRIBED_DEFAULTS)]));
  expect(rows.length).toBe(settings.length);
});

test('a worker takes the secrets out of its environment, and leaves the other variables', () => {
  const secrets = Object.keys(settingsSchema.shape).filter((name) => /(_KEYS?|^MONGODB_URI)$/.test(name));
  const env = {
    ...Object.fromEntries(secrets.map((name) => [name, 'a-secret'])),
    POSTBACK_CREW_TOOL_SECRETS: '{"CRM_KEY":"a-secret"}',
    POSTBACK_SEARCH_URL: 'http://user:a-secret@127.0.0.1:9200',
    PATH: '/bin',
  };
  const config = takeConfig(env);
  expect(env).toEqual({ PATH: '/bin' });
  expect(config).toMatchObject(Object.fromEntries(secrets.map((name) => [name, 'a-secret'])));
  expect(config.POSTBACK_CREW_TOOL_SECRETS).toEqual({ CRM_KEY: 'a-secret' });
});

test('notices to the operator need a secret, because they are always signed', () => {
  const url = { POSTBACK_OPERATOR_WEBHOOK_URL: 'https://example.com/notices' };
  const callbacks = (env: NodeJS.ProcessEnv) => () => createCallbacks(readConfig(env), { registrations: {} } as never);
  expect(callbacks(url)).toThrow('POSTBACK_OPERATOR_WEBHOOK_SECRET');
  expect(callbacks({ ...url, POSTBACK_OPERATOR_WEBHOOK_SECRET: 'sixteen or more characters' })).not.toThrow();
  // Workers that send no callbacks may have the address without the secret.
  expect(callbacks({ ...url, POSTBACK_QUEUES: 'content,control' })).not.toThrow();
  expect(callbacks({ ...url, POSTBACK_QUEUES: 'control,deliveries' })).toThrow('POSTBACK_OPERATOR_WEBHOOK_SECRET');
});

test('records are kept for a hundred years at most, because MongoDB stores no date beyond those of JavaScript', () => {
  const names = Object.keys(settingsSchema.shape).filter((name) => name.endsWith('_RETENTION_DAYS'));
  expect(names).toHaveLength(3);
  for (const name of names) {
    expect(readConfig({ [name]: '36500' })).toMatchObject({ [name]: 36_500 });
    expect(() => readConfig({ [name]: '36501' })).toThrow(name);
  }
});
