import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { findChromium, launchChromium } from '../support/browser.js';
import { PATIENCE_MS } from '../support/eventually.js';
import { makeKey, sharedProduct } from '../support/product.js';

const chromium = findChromium();
if (!chromium)
  console.warn('/docs in a browser: skipped, because there is no Chromium on the path or at CHROMIUM_PATH');

(chromium ? describe : describe.skip)('/docs in a browser', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  let browser: Browser;
  let page: Page;
  /** Errors of scripts and of the policy, and requests to other hosts. */
  const faults: string[] = [];

  beforeAll(async () => {
    browser = await launchChromium(chromium!);
    const context = await browser.newContext();
    context.setDefaultTimeout(PATIENCE_MS);
    page = await context.newPage();
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    page.on('request', (request) => {
      if (!request.url().startsWith(apiUrl)) faults.push(request.url());
    });
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    await page.goto(`${apiUrl}/docs`);
    await page.locator('.opblock').first().waitFor();
  });

  const operation = () => page.locator('#operations-Usage-getUseAndLimits');

  test.each([
    ['light', 1_400],
    ['dark', 400],
  ] as const)('is readable, %s, at %d pixels', async (colorScheme, width) => {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    // A new page, because colours fade into each other.
    await page.goto(`${apiUrl}/docs`);
    await operation().getByRole('button').first().click();
    await operation().getByRole('button', { name: 'Try it out' }).click();
    await operation().getByRole('button', { name: 'Execute' }).waitFor();
    await page.mouse.move(0, 0);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await page.evaluate(axe);
    const violations = await page.evaluate(
      `axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))`,
    );
    expect(violations).toEqual([]);
    expect(faults.splice(0)).toEqual([]);
  });

  test('sends requests with the key that the console keeps in this tab', async () => {
    await page.getByRole('link', { name: 'sign in at the console' }).waitFor();
    const { key } = await makeKey(mongodbUri, 'reference', 'api');
    await page.evaluate(`sessionStorage.setItem('postback.key.api', '${key}')`);
    await page.reload();
    await page.getByRole('button', { name: 'Send it from this page' }).click();
    await page.getByText(/HTTP 202[\s\S]*"status": "queued"/).waitFor();

    // By keyboard.
    await operation().getByRole('button').first().focus();
    await page.keyboard.press('Enter');
    await operation().getByRole('button', { name: 'Try it out' }).focus();
    await page.keyboard.press('Enter');
    await operation().getByRole('button', { name: 'Execute' }).focus();
    await page.keyboard.press('Enter');
    await operation().locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor();
    expect(faults.splice(0)).toEqual([]);
  });
});
