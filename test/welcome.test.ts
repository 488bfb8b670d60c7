import { expect, test } from '@jest/globals';
import { welcome } from '../cli/welcome.js';
import { readConfig } from '../runtime/config.js';

test('the welcome names the keys and logs of the data folder that is used', () => {
  const file = {
    api_url: 'http://127.0.0.1:8080',
    temporal_ui_url: null,
    temporal_address: '127.0.0.1:7233',
    mongodb_uri: 'mongodb://127.0.0.1',
    keys: { api: 'a', crew_org: 'b', crew_user: 'c', payment_secret: 'd', payment_publishable: 'e' },
  };
  const told = (env: NodeJS.ProcessEnv) => welcome(file, null, readConfig(env));
  expect(told({})).toMatch(/ \.postback\/dev\.json[\s\S]* \.postback\/logs/);
  expect(told({ POSTBACK_DATA_DIR: 'elsewhere/data' })).toMatch(
    / elsewhere\/data\/dev\.json[\s\S]* elsewhere\/data\/logs/,
  );
});
