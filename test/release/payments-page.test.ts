import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ERROR_STATUS } from '../../domain/errors.js';
import { SDK_NEXT_ACTIONS } from '../../domain/payments/authentications.js';
import { AUTHENTICATION_STATES } from '../../domain/payments/states.js';
import { createMerchant } from '../support/payments.js';
import { sharedProduct } from '../support/product.js';

// Follows docs/payments.md like a reader.

const page = readFileSync(join(process.cwd(), 'docs/payments.md'), 'utf8');
const blockWith = (text: string): string => {
  const block = page.split('```').find((part) => part.includes(text) && part.includes('\n'));
  return block!.slice(block!.indexOf('\n') + 1);
};
/** The first column of the table under a heading, without the column's name. */
const firstColumn = (heading: string): string[] =>
  [
    ...page
      .split(`## ${heading}`)[1]!
      .split('\n## ')[0]!
      .matchAll(/^\| `(\w+)`/gm),
  ]
    .map((row) => row[1]!)
    .filter((name) => !['status', 'sdk_next_action'].includes(name));

describe('the page on payment authentication', () => {
  const product = sharedProduct();

  test('its request and its snippet for the browser work', async () => {
    const merchant = await createMerchant(product, 'payment-docs');
    const env = { ...process.env, POSTBACK_URL: product.apiUrl, POSTBACK_PAYMENT_KEY: merchant.secretKey };
    const created = JSON.parse(execFileSync('sh', ['-c', blockWith('curl -s')], { env }).toString());
    expect(Object.keys(created)).toEqual(Object.keys(JSON.parse(blockWith('"status": "started"'))));

    const snippet = blockWith('await fetch').replace('https://postback.example', product.apiUrl);
    const names = ['authenticationId', 'clientSecret', 'sessionId', 'PUBLISHABLE_KEY', 'screen', 'navigator'];
    const AsyncFunction = (async () => undefined).constructor as FunctionConstructor;
    const run = new AsyncFunction(...names, `${snippet}; return { authentication_id, sdk_next_action };`);
    const result = await run(
      created.authentication_id,
      created.client_secret,
      'session',
      merchant.publishableKey,
      { colorDepth: 24, height: 1080, width: 1920 },
      { language: 'en', userAgent: 'test' },
    );
    expect(result).toEqual({
      authentication_id: created.authentication_id,
      sdk_next_action: 'await_merchant_callback',
    });
  });

  test('it lists every state and action, and every error with its status', () => {
    expect(firstColumn('States')).toEqual([...AUTHENTICATION_STATES]);
    expect(firstColumn('In the browser')).toEqual([...SDK_NEXT_ACTIONS]);
    const errors = [...page.matchAll(/^\| (\d{3}) +\| `\w+` +\| `(\w+)`/gm)].map(([, status, code]) => [
      code,
      Number(status),
    ]);
    expect(errors.length).toBeGreaterThan(10);
    expect(Object.fromEntries(errors)).toEqual(
      Object.fromEntries(errors.map(([code]) => [code, ERROR_STATUS[code as keyof typeof ERROR_STATUS]])),
    );
  });
});
