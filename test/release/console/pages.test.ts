import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type ConsoleData, DATABASE, fillConsole, LOCKED_FILE, REJECTED_ITEM } from '../../support/console-data.js';
import { consoleDuringTests, inChromium } from '../../support/console-page.js';
import { createCrewClient } from '../../support/crew-client.js';
import { eventually } from '../../support/eventually.js';
import { sharedProduct } from '../../support/product.js';

const { apiUrl } = sharedProduct();

/** The pages by their addresses. */
const PAGES = {
  overview: 'Overview',
  items: 'Items',
  'search?q=lamp': 'Search',
  deliveries: 'Deliveries',
  webhooks: 'Webhooks',
  jobs: 'Jobs',
  crews: 'Crews',
  payments: 'Payments',
  connectors: 'Connectors',
  usage: 'Usage',
  keys: 'Keys',
  audit: 'Audit',
};

inChromium('the console in a browser', () => {
  const WIDE = { width: 1240, height: 900 };
  const NARROW = { width: 400, height: 900 };
  const console = consoleDuringTests(apiUrl);
  const { heading, drawer, shows } = console;
  let data: ConsoleData;
  let page: Page;

  beforeAll(async () => {
    data = await fillConsole(sharedProduct(), 'console');
    page = console.page;
    await page.setViewportSize(WIDE);
  });
  afterAll(() => data?.close());
  afterEach(async () => {
    await page.evaluate('sessionStorage.clear(), localStorage.clear()');
    await page.goto('about:blank');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  async function signIn(...keys: string[]): Promise<void> {
    await page.goto(`${apiUrl}/console`);
    for (const key of keys) {
      if (key === data.crewKey) await page.getByRole('link', { name: 'Crews', exact: true }).click();
      await page.getByLabel('Key', { exact: true }).fill(key);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    }
  }

  const open = (name: string) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();
  const row = (name: string) => page.getByRole('link', { name }).first();

  /** What the button at a selector says after a click, on a page to which the browser gives no clipboard. */
  const saidWithoutClipboard = (selector: string) =>
    page.evaluate<string>(`new Promise((resolve) => {
      Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });
      const button = document.querySelector('${selector}');
      const observed = { subtree: true, childList: true, characterData: true };
      new MutationObserver(() => resolve(button.textContent)).observe(button, observed);
      button.click();
    })`);

  test('asks for a key, keeps it in this tab only, and forgets it', async () => {
    await page.goto(`${apiUrl}/console`);
    await page.getByLabel('Key', { exact: true }).fill(`pbk_api_${'x'.repeat(43)}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await shows(page, 'The API key is missing, unknown, expired or revoked.');
    await signIn(data.apiKey);
    await heading('Overview');
    const stored = () => page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])');
    expect(await stored()).toBe(JSON.stringify([{ 'postback.key.api': data.apiKey }, {}, '']));

    await page.goto(`${apiUrl}/docs`);
    await page.getByRole('button', { name: 'Authorize', exact: true }).first().click();
    const payments = page.locator('.auth-container', { hasText: 'payment_key' });
    await payments.locator('input').fill('pbk_sk_pasted');
    await payments
      .getByRole('button', { name: 'Apply credentials' })
      .or(payments.locator('.authorize'))
      .first()
      .click();
    expect(await stored()).toContain('pbk_sk_pasted');

    await page.goto(`${apiUrl}/console`);
    await heading('Overview');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await heading('Postback console');
    expect(await stored()).toBe('[{},{},""]');
  });

  test('shows what has happened', async () => {
    await signIn(data.apiKey);
    await shows(page.getByRole('region', { name: 'Items by state' }), /^5$|^6$/);
    await page.getByRole('figure', { name: 'Attempts at callbacks' }).locator('canvas').waitFor();
    await page.getByRole('figure', { name: 'Response time of receivers' }).locator('canvas').waitFor();
    await page.getByRole('button', { name: 'Week' }).click();
    await page.getByRole('figure', { name: 'Attempts at callbacks' }).locator('canvas').waitFor();
  });

  test('lists items, and says what to do about one that failed', async () => {
    await signIn(data.apiKey);
    await open('Items');
    await page.getByRole('button', { name: /errored/ }).click();
    await row(LOCKED_FILE).click();
    await shows(drawer(), 'E2002');
    await shows(drawer(), 'Remove the password, and ingest the file again.');
    await shows(drawer(), 'Text and index: failed');
    await page.keyboard.press('Escape');
    await eventually('the panel is closed', async () => (await drawer().count()) === 0);
  });

  test('a later page whose items are gone keeps the way back', async () => {
    await page.route('**/context/list?*', async (route) => {
      const isFirst = !new URL(route.request().url()).searchParams.has('cursor');
      const response = await route.fetch({
        url: route
          .request()
          .url()
          .replace(/&cursor=[^&]*/, ''),
      });
      const { data: found, ...rest } = await response.json();
      const answer = isFirst ? { ...found, next_cursor: 'older' } : { ...found, items: [], next_cursor: null };
      await route.fulfill({ response, json: { ...rest, data: answer } });
    });
    await signIn(data.apiKey);
    await open('Items');
    await page.getByRole('button', { name: 'Older' }).click();
    await shows(page, 'Nothing is left on this page.');
    expect(await page.getByText('This database is empty.').count()).toBe(0);
    await page.getByRole('button', { name: 'Newer' }).click();
    await row(LOCKED_FILE).waitFor();
  });

  test('shows an item that arrives, without a reload', async () => {
    const stream = page.waitForResponse((response) => response.url() === `${apiUrl}/events`);
    await signIn(data.apiKey);
    expect((await stream).status()).toBe(200);
    await open('Items');
    await row(LOCKED_FILE).waitFor();
    const hostile = '<img src=x onerror="document.title=1"> & co';
    await data.api.ingest({
      database: DATABASE,
      memories: JSON.stringify([{ id: 'hostile', title: hostile, text: hostile }]),
    });
    // As text: an element would be a fault of the policy, and have another name.
    await row(hostile).click();
    await shows(drawer(), 'Completed');
    await data.api.ended(DATABASE, 'hostile');
  });

  test('shows the attempts at a delivery, and sends it again', async () => {
    await signIn(data.apiKey);
    await open('Deliveries');
    await page.getByLabel('Error code').fill('HTTP_503');
    const readAgain = page.waitForResponse('**/deliveries?*');
    await console.look();
    await (await readAgain).finished();
    await console.caughtUp();
    expect(await page.getByLabel('Error code').inputValue()).toBe('HTTP_503');
    await page.getByLabel('Error code').blur();
    await row(REJECTED_ITEM).click();
    await shows(drawer(), '503');
    await shows(drawer(), '"hint": "<b>later</b>"');
    await shows(drawer(), '"event": "indexing.status_changed"');

    await drawer().getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Replay many' }).click();
    await page.getByLabel('State').last().selectOption('failed');
    await shows(page.getByRole('dialog').getByRole('status'), '1 delivery');
    await page.keyboard.press('Escape');

    data.acceptAll();
    await row(REJECTED_ITEM).click();
    await drawer().getByRole('button', { name: 'Retry now' }).click();
    await shows(drawer(), 'delivered');
    await shows(drawer(), '200');
  });

  test('opens a delivery without a workflow where others link to theirs', async () => {
    const temporal_ui = { url: 'https://temporal.example', namespace: 'default' };
    await console.changeAnswers('**/console/settings.json', (json) => ({ ...json, temporal_ui }));
    await signIn(data.apiKey);
    await open('Deliveries');
    await row(REJECTED_ITEM).click();
    const link = drawer().getByRole('link', { name: 'Temporal' });
    await link.waitFor();
    await page.keyboard.press('Escape');
    await console.changeAnswers('**/deliveries/*', ({ data: found }) => ({
      success: true,
      data: { ...found, workflow: null },
    }));
    await row(REJECTED_ITEM).click();
    await shows(drawer(), '"event": "indexing.status_changed"');
    expect(await link.count()).toBe(0);
    await page.keyboard.press('Escape');
    await open('Items');
    await row(LOCKED_FILE).waitFor();
  });

  test('shows the callbacks of jobs and crews beside the webhooks of items', async () => {
    await signIn(data.apiKey, data.crewKey);
    await open('Deliveries');
    await row('AI job, ended').waitFor();
    await row(REJECTED_ITEM).waitFor();
    await page.getByLabel('About').selectOption('crew');
    await row('Crew, task pending human input').click();
    await shows(drawer(), '"event": "task_pending_human_input"');
    await shows(drawer(), 'attempt 1');
    await drawer().getByRole('link', { name: data.execution }).click();
    await heading('Crews');
    await shows(drawer(), 'draft reply');
  });

  test('finds passages, marks words, and draws what surrounds them', async () => {
    await signIn(data.apiKey);
    await page.keyboard.press('/');
    await heading('Search');
    await page.getByLabel('Question').fill('How often does the lamp of the lighthouse flash?');
    await page.keyboard.press('Enter');
    await page.locator('mark', { hasText: /^lamp/i }).first().waitFor();
    const graph = page.getByRole('group', { name: 'Graph of entities and relations' });
    const node = graph.getByRole('button').first();
    const placeOf = () => node.evaluate((element) => element.getAttribute('transform'));
    const before = await placeOf();
    const box = (await node.locator('circle').boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + 60, box.y + 40, { steps: 4 });
    await page.mouse.up();
    await eventually('the entity moves', async () => (await placeOf()) !== before);
  });

  test('on a narrow screen the question has the whole row, and hits come before the graph', async () => {
    await signIn(data.apiKey);
    await page.setViewportSize(NARROW);
    await page.goto(`${apiUrl}/console#/search?q=lamp`);
    const graph = page.getByRole('region', { name: 'Graph', exact: true });
    await graph.waitFor();
    const [question, form, hits] = await Promise.all(
      [page.getByLabel('Question'), page.getByRole('search'), page.getByRole('region', { name: 'Hits' })].map(
        async (element) => (await element.boundingBox())!,
      ),
    );
    expect(question!.width).toBe(form!.width);
    expect(hits!.y).toBeLessThan((await graph.boundingBox())!.y);
    await page.setViewportSize(WIDE);
  });

  test('shows passages without the marks of Markdown, and as text only', async () => {
    await signIn(data.apiKey);
    await page.goto(`${apiUrl}/console#/search?q=sluice`);
    await page.locator('.passage p', { hasText: 'North sluice' }).first().waitFor();
    const passage = page.locator('.passage').filter({ hasText: 'North sluice' }).first();
    const shown = (await passage.textContent())!;
    expect(shown).toContain('open-gate --now');
    expect(shown).toContain('<img src=x onerror=alert(1)>');
    expect(shown).not.toMatch(/---|`|\*\*|^#/m);
    expect(await passage.locator('img').count()).toBe(0);
    expect(await passage.locator('code, pre').allTextContents()).toContain('open-gate --now');
  });

  test('the question in the field is that of the address', async () => {
    await signIn(data.apiKey);
    await page.goto(`${apiUrl}/console#/search?q=lamp`);
    await page.getByLabel('Question').fill('typed, but not asked');
    await page.goto(`${apiUrl}/console#/search?q=keeper`);
    await eventually('the question', async () => (await page.getByLabel('Question').inputValue()) === 'keeper');
  });

  test('a key within the text of an empty page is as wide as its sign', async () => {
    await signIn(data.apiKey);
    await page.goto(`${apiUrl}/console#/search`);
    const box = (await page.locator('.empty kbd').boundingBox())!;
    expect(box.width).toBeLessThan(40);
  });

  test('shows jobs with their output, connectors with their syncs, and the use', async () => {
    await signIn(data.apiKey);
    await open('Jobs');
    await row('Die Bibliothek öffnet um neun Uhr.').click();
    await shows(drawer(), 'German');
    await open('Connectors');
    await row('/feed.xml').click();
    await shows(drawer(), '1 new');
    await open('Usage');
    await shows(page.getByRole('region', { name: 'Databases' }), '1');
  });

  test('takes all keys of a start at once, names their organisation, and closes a payment', async () => {
    await signIn(`export POSTBACK_KEY='${data.apiKey}' export POSTBACK_API_KEY='${data.crewKey},${data.paymentKey}'`);
    await shows(page, 'Organisation');
    await page.locator('.organisation', { hasText: 'console' }).waitFor();
    await open('Crews');
    await heading('Crews');
    await open('Payments');
    await row(data.authentication).click();
    await shows(drawer(), '"order": 4711');
    await drawer().getByRole('button', { name: 'Close it' }).click();
    await shows(drawer(), 'closed');
  });

  test('creates a key, shows it once, names what stops when it is revoked, and lists both in the audit log', async () => {
    const name = '<img src=x onerror="document.title=1"> page';
    await signIn(data.apiKey);
    await open('Keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await console.isFine('new-key');
    await page.getByRole('checkbox', { name: 'write' }).check();
    await page.getByLabel('Kind').last().selectOption('crew_user');
    await shows(drawer(), /^For a person/);
    expect(await page.getByRole('checkbox', { name: 'write' }).isChecked()).toBe(true);
    await page.getByLabel('Kind').last().selectOption('api');
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Create' }).click();
    const key = (await drawer().getByRole('region', { name: 'Key' }).textContent())!;
    const accepted = async () => {
      const headers = { Authorization: `Bearer ${key}`, 'API-Version': '2' };
      return (await fetch(`${apiUrl}/databases`, { headers })).status;
    };
    expect([key, await accepted()]).toEqual([expect.stringMatching(/^pbk_api_[\w-]{43}$/), 200]);
    expect(await saidWithoutClipboard('dialog .command button')).toBe('Not allowed here');
    await page.getByRole('button', { name: 'I have stored it' }).click();
    expect(await page.content()).not.toContain(key);

    await row(name).click();
    await drawer().getByRole('link', { name: 'another key' }).waitFor();
    await shows(drawer(), 'read, write');
    await console.isFine('key');
    await drawer().getByRole('button', { name: 'Revoke' }).click();
    const question = page.getByRole('dialog', { name: `Revoke ${name}?` });
    await shows(question, 'Its ingests, queries, jobs and event streams stop working at once.');
    await question.getByRole('button', { name: 'Revoke' }).click();
    await shows(drawer(), /^revoked$/);
    expect(await accepted()).toBe(401);

    await drawer().getByRole('link', { name: 'The audit log' }).click();
    await heading('Audit');
    const latest = page.getByRole('region', { name: 'Audit log' }).locator('tbody tr');
    expect(await latest.nth(0).textContent()).toContain(`revoked the key ${name}`);
    expect(await latest.nth(1).textContent()).toContain(`created the key ${name}`);
    expect(await latest.nth(0).locator('img').count()).toBe(0);
  });

  test("creates and revokes keys of users on a crew's page", async () => {
    await signIn(data.apiKey, data.crewKey);
    await page.goto(`${apiUrl}/console#/crews?crew=support-reply`);
    const keys = page.getByRole('region', { name: 'Keys of support-reply' });
    await keys.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Kind').selectOption('crew_user');
    await page.getByLabel('Name').fill('Ada');
    await page.getByRole('button', { name: 'Create' }).click();
    const key = (await page.getByRole('dialog').getByRole('region', { name: 'Key' }).textContent())!;
    await page.getByRole('button', { name: 'I have stored it' }).click();
    const ada = keys.getByRole('row', { name: /Ada/ });
    expect(await ada.textContent()).toContain(key.slice(0, 'pbk_crewuser_'.length + 4));
    await console.isFine('after-keys');
    const status = async (crew: string) => {
      const headers = { Authorization: `Bearer ${key}` };
      return (await fetch(`${apiUrl}/crews/${crew}/inputs`, { headers })).status;
    };
    expect([await status('support-reply'), await status('document-brief')]).toEqual([200, 403]);
    await ada.getByRole('button', { name: 'Revoke Ada' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await eventually('the key is gone from the list', async () => (await ada.count()) === 0);
    expect(await status('support-reply')).toBe(401);
  });

  test('ends the session of a key that is revoked, with a sentence', async () => {
    const create = (label: string) => data.api.post('/keys', { kind: 'api', label, scopes: ['read', 'admin'] });
    const own = (await create('revokes itself')).body.data;
    await signIn(own.key);
    await open('Keys');
    await row('revokes itself (this one)').click();
    await drawer().getByRole('button', { name: 'Revoke' }).click();
    await shows(page, 'You are signed in with it');
    await page
      .getByRole('dialog', { name: /^Revoke/ })
      .getByRole('button', { name: 'Revoke' })
      .click();
    await shows(page, 'You have revoked the key of this tab. Sign in with another one.');

    const other = (await create('revoked elsewhere')).body.data;
    await signIn(other.key);
    await heading('Overview');
    await data.api.del(`/keys/${other.id}`);
    // By its address: a request in the background may have ended the session, and the navigation with it.
    await page.evaluate("location.hash = '#/keys'");
    await shows(page, 'Your key is no longer accepted. Sign in with another one.');
  });

  test('a receiver that rejects callbacks is named once, with their number', async () => {
    const url = 'https://receiver.example/hooks';
    const failed = ['a', 'b'].map((id) => ({
      delivery_id: `dlv_${id}`,
      doc_id: `${id}.md`,
      url,
      error_message: 'the receiver responded with 503',
      updated_at: new Date().toISOString(),
    }));
    const failures = '**/deliveries?status=permanently_failed*';
    await page.route(failures, (route) => route.fulfill({ json: { success: true, data: { deliveries: failed } } }));
    await signIn(data.apiKey);
    const attention = page.getByRole('region', { name: 'Needs attention' });
    await shows(attention, 'did not accept 2 callbacks');
    expect(await attention.getByText(url).count()).toBe(1);
    await page.unroute(failures);
  });

  test('lets a person reject and approve the output of a crew', async () => {
    await signIn(data.apiKey, data.crewKey);
    await heading('Crews');
    const waiting = page.getByRole('region', { name: 'support-reply, draft_reply' });
    await waiting.getByRole('button', { name: 'Reject' }).click();
    await shows(waiting, 'Say what should change');
    await waiting.getByLabel('Feedback').fill('Name the day.');
    await waiting.getByRole('button', { name: 'Reject' }).click();
    await shows(waiting, 'attempt 2');
    await waiting.getByRole('button', { name: 'Approve' }).click();
    await shows(page, 'Nothing waits for you.');
    await row(data.execution).click();
    await shows(drawer(), 'final reply');
  });

  test('a review link shows one output, as text, and takes one decision', async () => {
    const crew = createCrewClient(apiUrl, 'support-reply', data.crewKey);
    const notes = 'Parcels take <b>two</b> days. <img src=x onerror=alert(1)>';
    const id = await crew.start({ customer_message: 'Where is my parcel?', notes });
    const { review_url } = await crew.reaches(id, 'pending_human_input');
    await page.goto(review_url);
    await heading('Review of draft_reply by the crew support-reply');
    await console.isFine('review');
    await shows(page, '<b>two</b>');
    expect(await page.locator('main img, main b').count()).toBe(0);
    // By keyboard: the field, then Approve, then Reject.
    await page.getByLabel('Feedback').focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await shows(page, 'Say what should be different.');
    await page.keyboard.type('Name the day.');
    await page.getByRole('button', { name: 'Reject' }).click();
    await shows(page, 'Thank you. The task is retried with the feedback.');
    await page.reload();
    await shows(page, 'This output was rejected');

    const next = await crew.reaches(id, 'pending_human_input', { task: 'draft_reply', count: 2 });
    await page.goto(next.review_url);
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    await crew.approve(id, 'draft_reply');
    await page.getByRole('button', { name: 'Approve' }).click();
    await shows(page, 'This output was approved');
  });

  test('is used by keyboard alone', async () => {
    await signIn(data.apiKey);
    await heading('Overview');
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await heading('Items');
    await row(LOCKED_FILE).waitFor();
    await page.locator('a.row-link').first().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await drawer().waitFor();
    // A list that is drawn again can take the focus with it.
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('Escape');
    await eventually('the panel is closed', async () => (await drawer().count()) === 0);
    await page.keyboard.press('?');
    await shows(drawer(), 'Keyboard shortcuts');
  });

  test('every page fits and is accessible in light and dark colours, on a wide and a narrow screen', async () => {
    await page.goto(`${apiUrl}/console`);
    const keys = {
      'postback.key.api': data.apiKey,
      'postback.key.crew': data.crewKey,
      'postback.key.payment': data.paymentKey,
    };
    await page.evaluate(`Object.assign(sessionStorage, ${JSON.stringify(keys)})`);
    await page.reload();
    for (const [path, title] of Object.entries(PAGES)) {
      await page.goto(`${apiUrl}/console#/${path}`);
      await heading(title);
      await eventually(`${title} has loaded`, async () => (await page.locator('.loading').count()) === 0);
      await console.isFine(title);
    }
  });
});
