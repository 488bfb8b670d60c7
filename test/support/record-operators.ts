/**
 * `node dist/test/support/record-operators.js`: takes the pictures of docs/operators.md in Temporal's UI, from a real run.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { OPERATOR_VIEWS, viewUrl } from '../../domain/operator-views.js';
import { connectTemporal } from '../../temporal/connection.js';
import { findChromium, launchChromium } from './browser.js';
import { fillConsole } from './console-data.js';
import { eventually, PATIENCE_MS } from './eventually.js';
import { closeConnections } from './mongodb.js';
import { startProduct } from './product.js';

const FOLDER = 'docs/pictures';
const NAMESPACE = 'default';
const chromium = findChromium();
if (!chromium) throw new Error('needs Chromium on the path or at CHROMIUM_PATH');
mkdirSync(FOLDER, { recursive: true });
const product = await startProduct();
const ui = product.stack.temporalUiUrl!;
const temporal = await connectTemporal(product.temporalAddress, NAMESPACE);
const data = await fillConsole(product, 'acme');
const browser = await launchChromium(chromium);
try {
  const context = await browser.newContext({ viewport: { width: 1120, height: 1_020 }, reducedMotion: 'reduce' });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const view = OPERATOR_VIEWS.find(({ name }) => name === 'Work')!;
  await take('work', viewUrl(ui, NAMESPACE, view), `crew/${data.execution}`);

  const { deliveries } = (await data.api.get('/deliveries?status=failed')).body.data;
  const waits = await addressOf(`delivery/${deliveries[0].delivery_id}`);
  await take('delivery-waits', waits, 'HTTP_503', 'Pending Activities');
  await take('crew-waits', await addressOf(`crew/${data.execution}`), /Waiting for a person/, 'User Metadata');

  /** The address of the workflow's latest run. */
  async function addressOf(workflowId: string): Promise<string> {
    const { runId } = await temporal.workflow.getHandle(workflowId).describe();
    return `${ui}/namespaces/${NAMESPACE}/workflows/${encodeURIComponent(workflowId)}/${runId}`;
  }

  /**
   * @param text what the page shows when it has loaded
   * @param tab of a workflow
   */
  async function take(name: string, url: string, text: string | RegExp, tab?: string): Promise<void> {
    await page.goto(url);
    if (tab)
      await page
        .getByRole('link', { name: tab })
        .or(page.getByRole('tab', { name: tab }))
        .first()
        .click();
    // The UI shows metadata in frames.
    await eventually(`${text} on the page`, async () => {
      const shown = page.frames().map((frame) => frame.getByText(text).first().isVisible());
      return (await Promise.allSettled(shown)).some((each) => each.status === 'fulfilled' && each.value);
    });
    await page.evaluate('document.activeElement?.blur()');
    const taken = await page.locator('main').screenshot();
    // A palette makes files a third as large.
    const file = join(FOLDER, `${name}.png`);
    await sharp(taken).png({ palette: true, colours: 64, effort: 10 }).toFile(file);
    console.log(`written to ${file}`);
  }
} finally {
  await browser.close();
  await Promise.all([data.close(), temporal.connection.close(), closeConnections()]);
  await product.remove();
}
