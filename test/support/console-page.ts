import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect } from '@jest/globals';
import type { Browser, Locator, Page } from 'playwright-core';
import { findChromium, launchChromium } from './browser.js';
import { eventually, PATIENCE_MS } from './eventually.js';

const chromium = findChromium();
/** A block of tests that need Chromium. A function, because `describe.skip` belongs to one test file, and this module to all. */
export function inChromium(title: string, tests: () => void): void {
  (chromium ? describe : describe.skip)(title, tests);
}
if (!chromium) console.warn('skipped: tests in a browser need Chromium on the path, or at CHROMIUM_PATH');

const WIDE = { width: 1400, height: 900 };
const NARROW = { width: 400, height: 900 };

/** The keys of a session, as the console keeps them in its tab. */
export type SessionKeys = Partial<Record<'api' | 'crew' | 'payment', string>>;

/**
 * A page of the console for the tests of a block. Faults of scripts and of the policy, and requests to other hosts, fail the test.
 * A new page has no keys.
 */
export function consoleDuringTests(apiUrl: string) {
  let browser: Browser;
  let page: Page;
  const faults: string[] = [];

  beforeAll(async () => {
    browser = await launchChromium(chromium!);
    page = await open();
  });
  afterAll(() => browser?.close());
  afterEach(() => {
    expect(faults.splice(0)).toEqual([]);
  });

  async function open(): Promise<Page> {
    const context = await browser.newContext({ viewport: WIDE, permissions: ['clipboard-read', 'clipboard-write'] });
    context.setDefaultTimeout(PATIENCE_MS);
    const opened = await context.newPage();
    opened.on('pageerror', (error) => faults.push(String(error)));
    opened.on('console', (message) => {
      // Chromium reports each error response; the console shows it to the person.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        faults.push(message.text());
    });
    opened.on('request', (request) => {
      if (!request.url().startsWith(apiUrl) && !request.url().startsWith('blob:')) faults.push(request.url());
    });
    return opened;
  }

  return {
    get page(): Page {
      return page;
    },

    /** Another person's page, in a context of its own. */
    open,

    /** Opens a page of the console with these keys. */
    async visit(keys: SessionKeys, path: string, on: Page = page): Promise<void> {
      await on.goto(`${apiUrl}/console`);
      const entries = Object.entries(keys).map(([slot, key]) => [`postback.key.${slot}`, key]);
      await on.evaluate(
        `sessionStorage.clear(), Object.assign(sessionStorage, ${JSON.stringify(Object.fromEntries(entries))})`,
      );
      await on.goto(`${apiUrl}/console#/${path}`);
      await on.reload();
    },

    /** The page reads its data again, as when a person returns to its tab. */
    look: () => page.evaluate("document.dispatchEvent(new Event('visibilitychange'))"),

    /** Resolves when the page shows what it has received so far: an answer that is requested now comes after it. */
    caughtUp: () => page.evaluate("fetch('/console/settings.json').then((response) => response.text())"),

    /** Changes the JSON of the answers to requests for these addresses, until `unroute`. */
    changeAnswers: (addresses: string, changed: (json: Record<string, object>) => object) =>
      page.route(addresses, async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: changed(await response.json()) });
      }),

    heading: (name: string | RegExp) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor(),
    drawer: () => page.getByRole('dialog'),
    shows: (where: Page | Locator, text: string | RegExp) => where.getByText(text).first().waitFor(),

    /**
     * Fits the window and is accessible, in light and dark colours, on a wide and a narrow screen.
     * @param name of its pictures, which are written to the folder CONSOLE_PICTURES when it is set
     */
    async isFine(name: string, on: Page = page): Promise<void> {
      const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
      // Evaluated by the debugger, so the policy of the page stays as it is.
      await on.evaluate(axe);
      const found: unknown[] = [];
      for (const colorScheme of ['light', 'dark'] as const) {
        for (const size of [WIDE, NARROW]) {
          await on.setViewportSize(size);
          await on.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
          await eventually(`${name} fits ${size.width} pixels`, () =>
            on.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth'),
          );
          const violations = await on.evaluate<string[]>(
            `axe.run(document).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))`,
          );
          found.push(...violations.map((violation) => [name, colorScheme, size.width, violation]));
          await picture(on, `${name}-${colorScheme}-${size.width}`);
        }
      }
      await on.setViewportSize(WIDE);
      expect(found).toEqual([]);
    },
  };
}

async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.CONSOLE_PICTURES;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
