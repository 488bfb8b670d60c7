/**
 * `node dist/test/support/record-console.js`: takes the pictures of docs/console.md from a real run, in light and in dark.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import sharp from 'sharp';
import { findChromium, launchChromium } from './browser.js';
import { fillConsole } from './console-data.js';
import { closeConnections } from './mongodb.js';
import { startProduct } from './product.js';

const FOLDER = 'docs/console';
const QUESTION = 'How often does the lamp of the lighthouse flash?';

/** The pictures: the page, and what is clicked on it. */
const PICTURES: [name: string, path: string, click?: string][] = [
  ['overview', 'overview?hours=1'],
  ['items', 'items', 'tr:has-text("locked-plan.pdf") a'],
  ['add-items', 'items?add=1'],
  ['search', `search?q=${encodeURIComponent(QUESTION)}`],
  ['deliveries', 'deliveries', 'tr:has-text("will retry") a'],
  ['webhooks', 'webhooks', 'button:has-text("Send a test")'],
  ['jobs', 'jobs', 'tbody tr a'],
  ['crews', 'crews'],
  ['connectors', 'connectors', 'tbody tr a'],
  ['usage', 'usage'],
];

const chromium = findChromium();
if (!chromium) throw new Error('needs Chromium on the path or at CHROMIUM_PATH');
mkdirSync(FOLDER, { recursive: true });
const product = await startProduct({ POSTBACK_QUOTA_STORED_BYTES: '1000000', POSTBACK_QUOTA_ITEMS: '1000' });
try {
  const data = await fillConsole(product, 'development');
  const browser = await launchChromium(chromium);
  try {
    for (const colorScheme of ['light', 'dark'] as const) {
      const context = await browser.newContext({
        viewport: { width: 1120, height: 700 },
        colorScheme,
        reducedMotion: 'reduce',
      });
      const page = await context.newPage();
      await page.goto(`${product.apiUrl}/console`);
      await page.locator('input[name=key]').waitFor();
      await save(await page.screenshot(), `sign-in-${colorScheme}`);
      await page.evaluate(
        `sessionStorage.setItem('postback.key.api', '${data.apiKey}'); sessionStorage.setItem('postback.key.crew', '${data.crewKey}')`,
      );
      for (const [name, path, click] of PICTURES) {
        await page.goto(`${product.apiUrl}/console#/${path}`);
        await page.reload();
        await page.locator('h1').waitFor();
        await page.locator('.loading').waitFor({ state: 'detached' });
        if (click) await page.locator(click).first().click();
        // Everything that the page reads by itself.
        await wait(1_500);
        await page.evaluate('document.activeElement?.blur()');
        await save(await page.screenshot(), `${name}-${colorScheme}`);
      }
      await context.close();
    }
  } finally {
    await browser.close();
    await data.close();
  }
} finally {
  await closeConnections();
  await product.remove();
}

/** A palette makes files a third as large. */
async function save(picture: Buffer, name: string): Promise<void> {
  await sharp(picture)
    .png({ palette: true, colours: 64, effort: 10 })
    .toFile(join(FOLDER, `${name}.png`));
}
