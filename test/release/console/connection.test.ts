import { afterEach, expect, test } from '@jest/globals';
import { consoleDuringTests, inChromium } from '../../support/console-page.js';
import { clientDuringTests } from '../../support/during-tests.js';
import { eventually } from '../../support/eventually.js';
import { sharedProduct } from '../../support/product.js';

inChromium('the console when the server changes or cannot be reached', () => {
  const api = clientDuringTests('console-connection');
  const next = clientDuringTests('console-connection-next');
  const console = consoleDuringTests(sharedProduct().apiUrl);
  afterEach(async () => {
    await console.page.unrouteAll();
    await console.page.context().setOffline(false);
  });
  const { shows } = console;
  const lost = () => console.page.getByText(/^The connection to the server is lost/);

  test('a lost connection is named, and what is read once is read again when it is back', async () => {
    await console.visit({ api: api.key }, 'usage');
    await console.heading('Usage');
    await console.page.context().setOffline(true);
    await console.page.getByRole('link', { name: 'Webhooks' }).click();
    await lost().waitFor();
    await console.isFine('connection-lost');
    await console.page.context().setOffline(false);
    await eventually('the connection is back', async () => (await lost().count()) === 0);
    await console.page.getByRole('form', { name: 'Register a receiver' }).waitFor();
  });

  test('a tab that is older than the server asks to be reloaded', async () => {
    await console.visit({ api: api.key }, 'usage');
    await console.heading('Usage');
    const answer = console.page.waitForResponse('**/console/settings.json');
    await console.look();
    await answer;
    expect(await console.page.getByText('The server has a newer console').count()).toBe(0);
    await console.page.route('**/console/settings.json', (route) =>
      route.fulfill({ json: { temporal_ui: null, version: 'another' } }),
    );
    await console.look();
    await shows(console.page, 'The server has a newer console than this tab.');
    await console.page.unroute('**/console/settings.json');
    await console.page.getByRole('button', { name: 'Reload' }).click();
    await eventually('it is new', async () => (await console.page.getByText('The server has a newer').count()) === 0);
    await console.heading('Usage');
  });

  test('a late 401 to the last key does not end the session of the next key', async () => {
    const held: { answer?: () => Promise<void> } = {};
    await console.page.route('**/webhooks/indexing', async (route) => {
      if (route.request().method() !== 'POST') return route.fallback();
      held.answer = () => route.fulfill({ status: 401, json: { success: false, error: 'unknown key' } });
    });
    await console.visit({ api: api.key }, 'webhooks');
    const form = console.page.getByRole('form', { name: 'Register a receiver' });
    await form.getByLabel('Address').fill('https://receiver.example/hooks');
    await form.getByRole('button', { name: 'Register' }).click();
    await eventually('the request waits', async () => held.answer !== undefined);
    await console.page.getByRole('button', { name: 'Sign out' }).click();
    await console.page.getByLabel('Key', { exact: true }).fill(next.key);
    await console.page.getByRole('button', { name: 'Sign in' }).click();
    await form.waitFor();
    const answered = console.page.waitForResponse((response) => response.status() === 401);
    await held.answer!();
    await (await answered).finished();
    // An answer of the server after it: what the late one set off is done.
    await console.page.getByRole('link', { name: 'Usage' }).click();
    await console.heading('Usage');
    expect(await console.page.evaluate("sessionStorage.getItem('postback.key.api')")).toBe(next.key);
  });
});
