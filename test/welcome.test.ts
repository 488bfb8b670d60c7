import { stripVTControlCharacters } from 'node:util';
import { expect, test } from '@jest/globals';
import { welcome } from '../cli/welcome.js';
import { newApiKey } from '../domain/api-keys.js';
import { readConfig } from '../runtime/config.js';

test('the welcome message names the key file and the logs of the data folder in use', () => {
  const file = {
    api_url: 'http://127.0.0.1:8080',
    temporal_ui_url: null,
    temporal_address: '127.0.0.1:7233',
    mongodb_uri: 'mongodb://127.0.0.1',
    keys: { api: newApiKey('api'), crew_org: 'b', crew_user: 'c', payment_secret: 'd', payment_publishable: 'e' },
  };
  const message = (env: NodeJS.ProcessEnv) => welcome(file, null, readConfig(env));
  expect(message({})).toMatch(/ \.postback\/dev\.json[\s\S]* \.postback\/logs/);
  expect(message({ POSTBACK_DATA_DIR: 'elsewhere/data' })).toMatch(
    / elsewhere\/data\/dev\.json[\s\S]* elsewhere\/data\/logs/,
  );
  const lines = stripVTControlCharacters(message({})).split('\n');
  expect(lines.length).toBeLessThanOrEqual(24);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
});
