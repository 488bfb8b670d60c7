import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { dataOf } from '../../bench/page/charts.js';
import { chartsOf, renderPage } from '../../bench/page/page.js';
import { type BenchResult, readResults } from '../../bench/support/results.js';

const OVERVIEW: BenchResult = {
  name: 'overview',
  command: 'overview 1',
  date: '2026-05-04T03:02:01.000Z',
  machine: { processor: 'A processor', cores: 2, memoryGiB: 8, architecture: 'x64', node: 'v24.1.0', load: 2.1 },
  groups: {
    Deliveries: [{ name: 'a backlog, drained', value: 2_900, unit: 'a second', cpu: { worker: 0.4, mongod: 0.21 } }],
    Indexing: [
      {
        name: 'notes',
        value: 160,
        unit: 'a second',
        ratio: { to: 'embedding alone', value: 0.75 },
        cpu: { worker: 3 },
      },
    ],
    Memory: [{ name: 'api, idle', value: 131, unit: 'MiB' }],
  },
};

const textsOf = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);

describe('docs/performance.md', () => {
  const results = readResults();
  const charts = [...results.values()].flatMap((result) => Object.entries(chartsOf(result)));

  test('is what the stored results say', () => {
    expect(readFileSync('docs/performance.md', 'utf8')).toBe(`${renderPage(results)}\n`);
  });

  test('has the charts of the stored results', () => {
    const files = existsSync('docs/performance') ? readdirSync('docs/performance') : [];
    expect(files.sort()).toEqual(charts.map(([name]) => `${name}.svg`).sort());
    for (const [name, chart] of charts) {
      const svg = readFileSync(`docs/performance/${name}.svg`, 'utf8');
      expect(dataOf(svg)).toEqual(chart);
      const { title, unit, names, series } = chart;
      // Stacked bars have a legend, and no labels.
      const [values, ...more] = Object.values(series);
      const shown = more.length > 0 ? Object.keys(series) : values!.map(String);
      for (const text of [title, unit, ...names, ...shown]) expect(textsOf(svg)).toContain(text);
    }
  });
});

describe('a page', () => {
  test('names the command, the day, the machine, the ratios and the processor time', () => {
    const page = renderPage(new Map([['overview', OVERVIEW]])).replaceAll(/ +/g, ' ');
    expect(page).toContain('Measured on 2026-05-04 with `npm run bench -- overview 1`: 2 cores (A processor, x64)');
    expect(page).toContain('| a backlog, drained | 2,900 a second | 0.61 | 0.40 | 0.21 |');
    expect(page).toContain('| notes | 160 a second | 0.75 of embedding alone | 3.00 | 3.00 |');
    expect(page).toContain('measured on two cores on another day: Hookdeck Outpost');
  });

  test('begins with the numbers and the charts that a reader can take in', () => {
    const page = renderPage(new Map([['overview', OVERVIEW]])).replaceAll(/ +/g, ' ');
    const [, summary] = page.split('## ');
    expect(summary).toContain('In short');
    expect(summary).toContain('| deliveries, of a backlog | 2,900 a second |');
    expect(summary!.match(/!\[/g)).toHaveLength(3);
  });

  test('has a chart of both engines of the search index', () => {
    const figure = (name: string, value: number) => ({ name, value, unit: 'ms' });
    const figures = [
      figure('hybrid, p95: LanceDB', 21),
      figure('hybrid, p95: OpenSearch', 34),
      figure('text, p95: LanceDB', 9),
    ];
    const result = { ...OVERVIEW, name: 'search', groups: { '10,000 chunks': figures } };
    const names = ['10,000 chunks, hybrid, p95: LanceDB', '10,000 chunks, hybrid, p95: OpenSearch'];
    expect(chartsOf(result)).toMatchObject({ 'search-questions': { names, series: { ms: [21, 34] } } });
    expect(renderPage(new Map([['search', result]]))).toContain('(performance/search-questions.svg)');
  });

  test('has a chart of our deliveries beside those of other servers', () => {
    const { deliveries } = chartsOf(OVERVIEW);
    expect(deliveries!.names).toEqual(
      expect.arrayContaining(['Postback: a backlog, drained', 'Svix: publish to receipt']),
    );
    expect(Object.values(deliveries!.series).flat()).toContain(2_900);
  });
});
