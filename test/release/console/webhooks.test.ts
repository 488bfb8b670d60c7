import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { consoleDuringTests, inChromium } from '../../support/console-page.js';
import { createCrewClient } from '../../support/crew-client.js';
import { clientDuringTests, receiverDuringTests } from '../../support/during-tests.js';
import { eventually } from '../../support/eventually.js';
import { temporaryFolder } from '../../support/folder.js';
import { createJobClient } from '../../support/job-client.js';
import { createMerchant } from '../../support/payments.js';
import { makeKey, sharedProduct } from '../../support/product.js';
import { pythonWithCryptography } from '../../support/python.js';

inChromium('webhooks in the console', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const api = clientDuringTests('console-webhooks');
  const receiver = receiverDuringTests();
  const console = consoleDuringTests(apiUrl);
  const { shows } = console;
  const drawer = () => console.page.locator('.drawer');
  const dialog = () => console.page.locator('dialog[open]');
  const folder = temporaryFolder('console-webhooks');
  const region = (name: string) => console.page.getByRole('region', { name, exact: true });
  const open = (path = 'webhooks', keys: object = {}) => console.visit({ api: api.key, ...keys }, path);
  const registration = async () => (await api.get('/webhooks/indexing')).body.data;
  const register = (more: object = {}) => api.post('/webhooks/indexing', { url: receiver.url, ...more });
  const secretShown = async () => (await console.page.locator('.secret-once code').textContent())!;

  beforeAll(() => api.createDatabase('library'));

  /** Clicks twice before the server has answered. @returns how many requests are sent */
  async function requestsOfTwoClicks(addresses: string, button: Locator): Promise<number> {
    let requests = 0;
    const clicked = Promise.withResolvers<void>();
    await console.page.route(addresses, async (route) => {
      if (route.request().method() === 'POST') {
        requests += 1;
        await clicked.promise;
      }
      return route.fallback();
    });
    await button.dblclick();
    await console.caughtUp();
    clicked.resolve();
    await secretShown();
    await console.page.unroute(addresses);
    return requests;
  }

  /** Runs the samples that a place shows, and expects that they accept the environment, and reject another. */
  async function runSamples(
    where: ReturnType<typeof drawer>,
    env: Record<string, string>,
    wrong: Record<string, string>,
  ) {
    const commands = { TypeScript: [process.execPath, 'verify.ts'], Python: [pythonWithCryptography(), 'verify.py'] };
    for (const [language, [command, file]] of Object.entries(commands)) {
      await where.getByRole('button', { name: language }).click();
      const code = await where.getByRole('region', { name: 'Code that verifies this request' }).textContent();
      for (const secret of Object.values(env)) expect(code).not.toContain(secret);
      writeFileSync(join(folder, file!), code!);
      const run = (variables: Record<string, string>) =>
        spawnSync(command!, [file!], { cwd: folder, env: { PATH: process.env.PATH, ...variables }, encoding: 'utf8' });
      const accepted = run(env);
      expect([language, accepted.stdout, accepted.status]).toEqual([language, 'The signature is valid.\n', 0]);
      expect([language, run(wrong).status]).toEqual([language, 1]);
    }
  }

  test('a receiver is registered, and its secret is shown once', async () => {
    await open();
    await console.page.getByLabel('Address').fill(receiver.url);
    await console.page.getByRole('button', { name: 'Add a header' }).click();
    await console.page.getByLabel('Name').fill('X-Gateway');
    await console.page.getByLabel('Value').fill('a token of the gateway');
    await console.page.getByLabel('Requests per second, at most').fill('50');
    await console.isFine('webhook-form');
    const submit = console.page.getByRole('button', { name: 'Register' });
    expect(await requestsOfTwoClicks('**/webhooks/indexing', submit)).toBe(1);
    const secret = await secretShown();
    expect(secret).toMatch(/^whsec_/);
    await shows(region('Receiver'), 'X-Gateway (values are not shown)');
    expect(await registration()).toMatchObject({
      url: receiver.url,
      signing_secret_configured: true,
      header_names: ['X-Gateway'],
      max_per_second: 50,
    });
    await console.page.getByRole('button', { name: 'I have stored it' }).click();
    await console.page.reload();
    await shows(region('Signing secret'), 'The webhooks are signed. The secret cannot be shown again.');
    expect(await console.page.content()).not.toContain(secret);

    await console.page.getByRole('button', { name: 'Change', exact: true }).click();
    await console.page.getByLabel('Requests per second, at most').fill('');
    await console.page.getByRole('button', { name: 'Save' }).click();
    await shows(region('Receiver'), 'no limit');
    expect(await registration()).toMatchObject({ header_names: ['X-Gateway'], max_per_second: null });
  });

  test('an address that is not allowed says why, and keeps what was typed', async () => {
    await api.del('/webhooks/indexing');
    await open();
    await console.page.getByLabel('Address').fill('http://10.0.0.1/hook');
    await console.page.getByRole('button', { name: 'Register' }).click();
    await shows(console.page.getByRole('alert'), /^url/);
    expect(await console.page.getByLabel('Address').inputValue()).toBe('http://10.0.0.1/hook');
  });

  test('a test shows request and response, and the samples verify it', async () => {
    const { signing_secret } = (await register({ generate_signing_secret: true, headers: { 'X-Gateway': 'secret' } }))
      .body.data;
    receiver.respond = () => ({ status: 202, headers: { 'X-Answer': 'yes' }, body: '{"note": "<b>taken</b>"}' });
    await open();
    await console.page.getByRole('button', { name: 'Send a test' }).click();
    const tested = region('Test');
    await shows(tested, 'The receiver accepted the test delivery.');
    const [headers, body] = await Promise.all(
      ['Request headers', 'Request body'].map((name) => tested.getByRole('region', { name }).textContent()),
    );
    const received = receiver.received.at(-1)!;
    expect(headers).toContain('X-Gateway: (not shown)');
    expect(headers).toContain(`webhook-signature: ${received.headers['webhook-signature']}`);
    expect(JSON.parse(body!)).toEqual(received.json);
    await shows(tested, /x-answer: yes/);
    await shows(tested, '"note": "<b>taken</b>"');
    await runSamples(tested, { SIGNING_SECRET: signing_secret }, { SIGNING_SECRET: 'another secret of mine' });
    await console.isFine('webhook-test');

    receiver.respond = () => ({ status: 500 });
    await console.page.getByRole('button', { name: 'Send a test' }).click();
    await shows(tested, 'The receiver responded with status 500.');
  });

  test('the samples of a delivery verify what the receiver got, with a generated secret or an own one', async () => {
    receiver.respond = () => ({ status: 204 });
    for (const secret of ['a secret of my own choice!', 'c2l4dGVlbiBieXRlcyBvciBtb3Jl']) {
      await register({ signing_secret: secret });
      const id = `item "${secret.length}" – größer`;
      await api.ingest({ database: 'library', memories: JSON.stringify([{ id, text: `It is ${secret.length}.` }]) });
      await receiver.waitFor('the webhook', ({ json }) => json.id === id);
      const { deliveries } = (await api.get(`/deliveries?doc_id=${encodeURIComponent(id)}`)).body.data;
      await open(`deliveries?id=${deliveries[0].delivery_id}`);
      await drawer().getByText('Verify this delivery').click();
      await runSamples(drawer(), { SIGNING_SECRET: secret }, { SIGNING_SECRET: `${secret}0` });
    }
    await console.isFine('delivery-verify');
  });

  test('the samples of a callback of a job take the public key', async () => {
    const jobs = createJobClient(apiUrl, api.key);
    const input = { text: 'Die Bibliothek.' };
    const { body } = await jobs.submit('text/language_detection/eld', input, { webhook_receiver: receiver.url });
    const job = body.job_id;
    await receiver.waitFor('the callback', ({ json }) => json.job_id === job);
    const { deliveries } = (await api.get(`/deliveries?doc_id=${job}`)).body.data;
    await open(`deliveries?id=${deliveries[0].delivery_id}`);
    await drawer().getByText('Verify this delivery').click();
    const publicKey = async (key: string) =>
      (await fetch(`${apiUrl}/v3/ai/webhook-public-key`, { headers: { Authorization: `Bearer ${key}` } })).text();
    const { key: another } = await makeKey(mongodbUri, 'console-webhooks-other');
    await runSamples(drawer(), { PUBLIC_KEY: await publicKey(api.key) }, { PUBLIC_KEY: await publicKey(another) });
  });

  test('the samples of a callback of a crew take the secret of crews', async () => {
    const { key: crewKey } = await makeKey(mongodbUri, 'console-webhooks', 'crew_org');
    await open('crews', { crew: crewKey });
    await console.page.getByRole('button', { name: 'Generate a new secret' }).click();
    await dialog().getByRole('button', { name: 'Generate a new secret' }).click();
    const signing_secret = await secretShown();
    await console.isFine('crew-secret');
    const crew = createCrewClient(apiUrl, 'support-reply', crewKey);
    const execution = await crew.start({ customer_message: 'Where?', notes: 'none' }, { taskWebhookUrl: receiver.url });
    await receiver.waitFor('the callback', ({ json }) => json.execution_id === execution);
    const { deliveries } = (await api.get(`/deliveries?doc_id=${execution}`)).body.data;
    await open(`deliveries?id=${deliveries[0].delivery_id}`, { crew: crewKey });
    await drawer().getByText('Verify this delivery').click();
    await runSamples(drawer(), { SIGNING_SECRET: signing_secret }, { SIGNING_SECRET: 'another secret of mine' });
  });

  test('a callback of a payment leads from its authentication to samples that take the secret of payments', async () => {
    const merchant = await createMerchant(sharedProduct(), 'console-webhooks');
    const { signing_secret } = (await merchant.server('POST', '/authentication/signing-secret', { json: {} })).body;
    receiver.respond = () => ({ status: 410 });
    const { id } = await merchant.start({ amount: 1250, currency: 'EUR', webhook_url: receiver.url });
    await merchant.server('POST', `/authentication/${id}/close`);
    await receiver.waitFor('the callback', ({ json }) => json.authentication_id === id);
    await open(`payments?id=${id}`, { payment: merchant.secretKey });
    await drawer().getByRole('link', { name: 'with the request and its signature' }).click();
    await console.page.getByRole('link', { name: id }).click();
    await drawer().getByText('Verify this delivery').click();
    await runSamples(drawer(), { SIGNING_SECRET: signing_secret }, { SIGNING_SECRET: 'another secret of mine' });
    receiver.respond = () => ({ status: 204 });
    await drawer().getByRole('button', { name: 'Retry now' }).click();
    await shows(drawer(), 'delivered');
  });

  test('a disabled webhook gets nothing until it is enabled again, and keeps its secret', async () => {
    await register({ signing_secret: 'sixteen or more characters' });
    await open();
    await console.page.getByRole('button', { name: 'Disable' }).click();
    await dialog().getByRole('button', { name: 'Disable' }).click();
    await shows(console.page.getByRole('alert'), /^Disabled since/);
    await api.ingest({ database: 'library', memories: '[{"id":"unheard","text":"Nobody hears it."}]' });
    await eventually('the delivery fails', async () => {
      const { deliveries } = (await api.get('/deliveries?doc_id=unheard')).body.data;
      return deliveries[0]?.error_code === 'WEBHOOK_DISABLED';
    });
    await console.page.getByRole('button', { name: 'Enable' }).click();
    await shows(region('Receiver'), 'enabled');
    expect(await registration()).toMatchObject({ disabled_at: null, signing_secret_configured: true });
  });

  test('the secret is rotated, replaced and deleted, and the receiver is deleted', async () => {
    await register({ signing_secret: 'sixteen or more characters' });
    await open();
    await console.page.getByRole('button', { name: 'Rotate the secret' }).click();
    await dialog().getByRole('button', { name: 'Generate a new secret' }).click();
    expect(await secretShown()).toMatch(/^whsec_/);
    await console.page.getByRole('button', { name: 'Set my own' }).click();
    await dialog().getByLabel('Secret', { exact: true }).fill('another secret of mine');
    await dialog().getByRole('button', { name: 'Set the secret' }).click();
    await shows(region('Signing secret'), 'Signing secret stored.');
    await console.page.getByRole('button', { name: 'Delete the secret' }).click();
    await dialog().getByRole('button', { name: 'Delete the secret' }).click();
    const generate = console.page.getByRole('button', { name: 'Generate a secret' });
    await generate.waitFor();
    expect(await registration()).toMatchObject({ signing_secret_configured: false });
    expect(await requestsOfTwoClicks('**/webhooks/indexing/signing-secret', generate)).toBe(1);
    await region('Receiver').getByRole('button', { name: 'Delete' }).click();
    await dialog().getByRole('button', { name: 'Delete the receiver' }).click();
    await console.page.getByRole('button', { name: 'Register' }).waitFor();
    expect(await registration()).toMatchObject({ registered: false });
  });

  test('the secret of payments is generated, but cannot be deleted', async () => {
    const { key: payment } = await makeKey(mongodbUri, 'console-webhooks', 'payment_secret');
    await open('payments', { payment });
    await console.page.getByRole('button', { name: 'Generate a new secret' }).click();
    await dialog().getByRole('button', { name: 'Generate a new secret' }).click();
    expect(await secretShown()).toMatch(/^whsec_/);
    expect(await console.page.getByRole('button', { name: 'Delete the secret' }).count()).toBe(0);
    await console.isFine('payments');
  });
});
