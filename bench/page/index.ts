import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readResults } from '../support/results.js';
import { drawBars } from './charts.js';
import { chartsOf, renderPage } from './page.js';

const DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url));

/** Writes `docs/performance.md` and its charts from the stored results. */
export async function page(): Promise<void> {
  const results = readResults();
  const overview = results.get('overview');
  mkdirSync(join(DOCS, 'performance'), { recursive: true });
  for (const [name, chart] of Object.entries(overview ? chartsOf(overview) : {})) {
    writeFileSync(join(DOCS, 'performance', `${name}.svg`), `${drawBars(chart)}\n`);
  }
  writeFileSync(join(DOCS, 'performance.md'), `${renderPage(results)}\n`);
  console.log(`docs/performance.md: ${[...results.keys()].join(', ')}`);
}
