import { type BenchResult, DELIVERY_LIMITS, type Figure, sum } from '../support/results.js';
import type { BarChartData } from './charts.js';
import { PEERS } from './peers.js';

/** The ten numbers on top of the page: result, heading and name of a figure. */
const SUMMARY: readonly (readonly [what: string, result: string, heading: string, figure: string])[] = [
  ['AI jobs (language detection)', 'overview', 'AI jobs', 'jobs (language detection)'],
  ['deliveries, of a backlog', 'overview', 'Deliveries', 'a backlog, drained'],
  ['deliveries, as work ends, one by one', 'overview', 'Deliveries', 'completions, one each'],
  ['notes of five words indexed, in one request', 'overview', 'Indexing', 'notes of five words'],
  ['notes of five words indexed, a request each', 'overview', 'Indexing', 'notes, a request each'],
  ['abstracts of 1,000 characters indexed', 'overview', 'Indexing', 'abstracts of 1,000 characters'],
  ['a question to 100,000 chunks, the median', 'latency', '100000 chunks', 'no filter, p50'],
  ['questions to 100,000 chunks by 16 clients', 'latency', '100000 chunks', '16 clients'],
  ['memory of all processes, idle', 'overview', 'Memory', 'together, idle'],
  ['memory of all processes, at work', 'overview', 'Memory', 'together, at work'],
];
/** The charts below the ten numbers; the others are with their figures. */
const SUMMARY_CHARTS: readonly string[] = ['deliveries', 'indexing', 'memory'];

/** What the page says of each benchmark, in this order. */
const SECTIONS: Record<string, { title: string; text: string }> = {
  overview: {
    title: 'Overview',
    text: 'One run, so that the ratios are between figures of the same conditions. Deliveries are measured at the receiver, from the commit that makes the first one due to the last request. Items are measured from the request to the last webhook, beside the embedding of the same texts alone.',
  },
  age: {
    title: 'With age',
    text: 'The same work in ten equal parts on one instance. A unit of the last part must cost at most 1.2 times one of the first.',
  },
  hanging: {
    title: 'Beside a receiver that hangs',
    text: 'A backlog for a receiver that never responds, and what it costs: the processor time of each process, and the time of the deliveries to another receiver.',
  },
  latency: {
    title: 'Questions',
    text: 'Hybrid queries over HTTP, one after the other, in a growing database; the first ones after a restart of the API are measured apart.',
  },
  churn: {
    title: 'Questions while items are replaced',
    text: 'Ten notes a second go into one database, at first half and later all of them in the place of earlier ones, beside five questions a second. The run has five equal parts.',
  },
  search: {
    title: 'The two engines of the search index',
    text: 'The same chunks and questions through LanceDB and through OpenSearch, without the rest of the product: the test collection, and generated chunks that fill the index up. Each engine has a process of its own that asks one question after the other; LanceDB runs in it, and OpenSearch is a server with a Java heap of 512 MB. The relevance (nDCG@10) is that of the questions of the collection among all chunks.',
  },
  cluster: {
    title: 'A cluster under faults',
    text: 'Two of each process on one machine, while every part in turn is killed, frozen or cut off, one fault after the other without a break. The figures show what clients and receivers see of that, not how much work a cluster carries. A result is stored only when nothing was lost, stuck, or doubled without a reason.',
  },
};

/** @returns the charts of a result, by file name */
export function chartsOf(result: BenchResult): Record<string, BarChartData> {
  return CHARTS[result.name]?.(result) ?? {};
}

const CHARTS: Record<string, (result: BenchResult) => Record<string, BarChartData>> = {
  overview: overviewCharts,
  search: searchCharts,
};

function overviewCharts({ groups }: BenchResult): Record<string, BarChartData> {
  const { Deliveries: deliveries = [], Indexing: indexing = [], Memory: memory = [] } = groups;
  const named = (title: string, figures: readonly Figure[]) =>
    Object.fromEntries(figures.map(({ name, value }) => [`${title}: ${name}`, value]));
  const rates = { ...named('Postback', deliveries), ...named('MongoDB and HTTP alone', groups[DELIVERY_LIMITS] ?? []) };
  return {
    deliveries: bars('Deliveries a second (peers: measured on another day)', 'a second', { ...rates, ...PEERS }),
    indexing: bars('Items a second', 'a second', valuesOf(indexing)),
    'processor-deliveries': stacked('Processor time of a delivery', 'ms of a core', deliveries),
    'processor-indexing': stacked('Processor time of an item', 'ms of a core', indexing),
    memory: bars('Resident memory', 'MiB', valuesOf(memory)),
  };
}

/** One chart with the times of the questions, of every number of chunks. */
function searchCharts({ groups }: BenchResult): Record<string, BarChartData> {
  const figures = Object.entries(groups).flatMap(([chunks, all]) =>
    all
      .filter(({ name }) => /^hybrid, p\d+:/.test(name))
      .map((figure) => ({ ...figure, name: `${chunks}, ${figure.name}` })),
  );
  return { 'search-questions': bars('Time of a hybrid search', 'ms', valuesOf(figures)) };
}

/** @returns the page as Markdown */
export function renderPage(results: ReadonlyMap<string, BenchResult>): string {
  const sections = Object.entries(SECTIONS).flatMap(([name, section]) => {
    const result = results.get(name);
    return result ? [renderSection(section, result)] : [];
  });
  return [
    '# Performance',
    'Generated from [`bench/results/`](../bench/results) by `npm run bench -- page`. ' +
      'Timings vary with the machine and its load: compare figures of one run. ' +
      '[bench/README.md](../bench/README.md) says what each benchmark measures, ' +
      '[measurements.md](decisions/measurements.md) what was measured once, for a choice.',
    ...renderSummary(results),
    ...(sections.length > 0 ? sections : ['No results are stored yet.']),
  ].join('\n\n');
}

/** @returns ten numbers and three charts; nothing before `overview` has run */
function renderSummary(results: ReadonlyMap<string, BenchResult>): string[] {
  const overview = results.get('overview');
  if (!overview) return [];
  const rows = SUMMARY.flatMap(([what, result, heading, name]) => {
    const figure = results.get(result)?.groups[heading]?.find((each) => each.name === name);
    return figure ? [[what, measured(figure)]] : [];
  });
  const charts = Object.entries(chartsOf(overview)).filter(([file]) => SUMMARY_CHARTS.includes(file));
  return ['## In short', table(['what', 'measured'], rows), ...charts.map(asPicture)];
}

function renderSection({ title, text }: (typeof SECTIONS)[string], result: BenchResult): string {
  const { name, command, date, machine, groups } = result;
  const { processor, cores, memoryGiB, architecture, node, load } = machine;
  const charts = Object.entries(chartsOf(result));
  return [
    `## ${title}`,
    text,
    `Measured on ${date.slice(0, 10)} with \`npm run bench -- ${command}\`: ${cores} cores (${processor}, ${architecture}), ${memoryGiB} GiB, Node ${node}, load ${load} at the end.`,
    ...charts.filter(([file]) => !SUMMARY_CHARTS.includes(file)).map(asPicture),
    ...(name === 'overview' ? [describePeers()] : []),
    ...Object.entries(groups).map(([heading, figures]) => `### ${heading}\n\n${renderTable(figures)}`),
  ].join('\n\n');
}

function describePeers(): string {
  const peers = Object.entries(PEERS).map(([name, perSecond]) => `${name} ${perSecond} a second`);
  return `Figures of other servers, measured on two cores on another day: ${peers.join('; ')}.`;
}

function renderTable(figures: readonly Figure[]): string {
  const withRatio = figures.some(({ ratio }) => ratio);
  const processes = [...new Set(figures.flatMap(({ cpu }) => Object.keys(cpu ?? {})))];
  const columns = [
    'what',
    'measured',
    ...(withRatio ? ['ratio'] : []),
    ...(processes.length > 0 ? ['ms of a core each', ...processes] : []),
  ];
  const rows = figures.map(({ name, value, unit, ratio, cpu }) => [
    name,
    measured({ name, value, unit }),
    ...(withRatio ? [ratio ? `${ratio.value.toFixed(2)} of ${ratio.to}` : ''] : []),
    ...(processes.length > 0
      ? [cpu ? sum(cpu).toFixed(2) : '', ...processes.map((process) => cpu?.[process]?.toFixed(2) ?? '')]
      : []),
  ]);
  return table(columns, rows);
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map((name, n) => Math.max(name.length, ...rows.map((row) => row[n]!.length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, n) => cell.padEnd(widths[n]!)).join(' | ')} |`;
  return [line(columns), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

const measured = ({ value, unit }: Figure): string => `${value.toLocaleString('en')} ${unit}`.trim();

const asPicture = ([file, { title }]: [string, BarChartData]): string => `![${title}](performance/${file}.svg)`;

function valuesOf(figures: readonly Figure[]): Record<string, number> {
  return Object.fromEntries(figures.map(({ name, value }) => [name, value]));
}

function bars(title: string, unit: string, values: Record<string, number>): BarChartData {
  return { title, unit, names: Object.keys(values), series: { [unit]: Object.values(values) } };
}

function stacked(title: string, unit: string, figures: readonly Figure[]): BarChartData {
  const processes = [...new Set(figures.flatMap(({ cpu }) => Object.keys(cpu ?? {})))];
  const series = processes.map((process) => [process, figures.map(({ cpu }) => cpu?.[process] ?? null)]);
  return { title, unit, names: figures.map(({ name }) => name), series: Object.fromEntries(series) };
}
