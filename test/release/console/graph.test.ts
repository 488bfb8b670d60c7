import { beforeAll, expect, test } from '@jest/globals';
import { madeGraph } from '../../fixtures/made-graph.js';
import { consoleDuringTests, inChromium } from '../../support/console-page.js';
import { eventually } from '../../support/eventually.js';
import { makeKey, sharedProduct } from '../../support/product.js';

const HIT = {
  chunk_id: 'chk_0',
  score: 1,
  title: 'Log',
  source_id: 'log',
  collection: 'default',
  text: 'The lamp flashes.',
  highlights: [[4, 8]],
  location: {},
};

inChromium('the graph of the console', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const tab = consoleDuringTests(apiUrl);
  let key: string;
  beforeAll(async () => {
    ({ key } = await makeKey(mongodbUri, 'console-graph'));
  });

  async function visit(count: number) {
    await tab.page.unrouteAll();
    const data = { chunks: [HIT], graph: madeGraph(count) };
    await tab.page.route('**/query', (route) => route.fulfill({ json: { success: true, data } }));
    await tab.visit({ api: key }, 'search?q=lamp&database=log');
    const graph = tab.page.getByRole('group', { name: 'Graph of entities and relations' });
    await graph.getByRole('button').first().waitFor();
    return graph;
  }

  /** Pairs of labels that cover each other. */
  const covering = () =>
    tab.page.locator('svg.graph text').evaluateAll((texts) => {
      const labels = texts.map((text) => ({ text: text.textContent, box: text.getBoundingClientRect() }));
      return labels.flatMap(({ text, box }, at) =>
        labels
          .slice(at + 1)
          .filter(({ box: other }) => box.left < other.right && other.left < box.right)
          .filter(({ box: other }) => box.top < other.bottom && other.top < box.bottom)
          .map((other) => [text, other.text]),
      );
    });

  test.each([
    [6, 1_400],
    [30, 1_400],
    [100, 1_400],
    [30, 400],
    [100, 400],
  ])('of %i entities has no label that covers another, in a window of %i pixels', async (count, width) => {
    await tab.page.setViewportSize({ width, height: 900 });
    const graph = await visit(count);
    expect(await covering()).toEqual([]);
    const first = graph.getByRole('button').first();
    await first.focus();
    await tab.page.keyboard.press('Enter');
    await eventually('it is chosen', async () => (await first.getAttribute('aria-pressed')) === 'true');
    expect(await covering()).toEqual([]);
  });

  test('of many entities says how many it shows, and is fine', async () => {
    await visit(100);
    await tab.shows(tab.page, 'The 32 with most relations, of 100 entities.');
    await tab.isFine('graph');
  });
});
