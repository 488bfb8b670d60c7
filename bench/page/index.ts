import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readResults } from '../support/results.js';
import { drawBars } from './charts.js';
import { chartsOf, renderPage } from './page.js';
import { renderScaling, withScaling } from './scaling.js';

const DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url));

/** Writes `docs/performance.md`, its charts, and the calculated part of `docs/scaling.md` from the stored results. */
export async function page(): Promise<void> {
  const results = readResults();
  mkdirSync(join(DOCS, 'performance'), { recursive: true });
  for (const [name, chart] of [...results.values()].flatMap((result) => Object.entries(chartsOf(result)))) {
    writeFileSync(join(DOCS, 'performance', `${name}.svg`), `${drawBars(chart)}\n`);
  }
  writeFileSync(join(DOCS, 'performance.md'), `${renderPage(results)}\n`);
  const scaling = join(DOCS, 'scaling.md');
  writeFileSync(scaling, withScaling(readFileSync(scaling, 'utf8'), renderScaling(results)));
  console.log(`docs/performance.md: ${[...results.keys()].join(', ')}`);
}
