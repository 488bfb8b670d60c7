import type { BenchResult, Figure } from '../support/results.js';

/** What docs/scaling.md assumes. Prices are round list prices of large clouds in the USA, in dollars; check those of yours. */
export const ASSUMED = {
  priced: '2026-11-22',
  /** Share of its time that a core may be busy, so that queues stay short. */
  busy: 0.6,
  /** Of MongoDB, and of OpenSearch's shards: a member has all data and repeats all writes. */
  members: 3,
  searchCopies: 2,
  /** A core for an hour, with 4 GB of memory. */
  coreHour: 0.05,
  memoryOfCore: 4,
  /** Of a large member of MongoDB. */
  coresOfPrimary: 16,
  diskGbMonth: 0.08,
  /** A GB between two zones, in both directions together, and to the internet. */
  zoneGb: 0.02,
  internetGb: 0.05,
  /** A request with its headers, its signature and its share of the connection; the response is small. */
  deliveryBytes: 1_500,
  hoursOfMonth: 730,
  /** Days after which delivery records are removed, and days of items that are kept. */
  days: 30,
  /** Share of BSON that is left on disk: text and vectors compress less than records, whose share is measured. */
  itemOnDisk: 0.5,
  /** A chunk in OpenSearch with its vector of 384 numbers: 1.5 KB for the vector, 0.4 KB for its packed copy, graph and text. */
  chunkBytes: 2_500,
} as const;

/** What one unit of work costs, as measured. */
export interface UnitCost {
  /** Milliseconds of a core, by process. */
  cpu: Record<string, number>;
  /** Bytes that a member of MongoDB writes for the others. */
  oplog: number;
  /** Bytes that stay on the disk of one member. */
  stored: number;
  /** Bytes of the search index, one copy. */
  indexed: number;
  /** Bytes that leave to the internet. */
  sent: number;
}

/** What a rate of work needs. */
export interface Need {
  /** Cores that are busy, by process; all members of MongoDB together. */
  cores: Record<string, number>;
  provided: number;
  memoryGb: number;
  oplogMb: number;
  /** All copies after `ASSUMED.days`. */
  diskGb: number;
  zoneMb: number;
  internetMb: number;
  dollars: { cores: number; disks: number; network: number };
}

const SECONDS_OF_DAY = 24 * 60 * 60;
const GB = 1e9;
const MB = 1e6;

/** @returns what so many units a second need, at a constant rate */
export function needOf({ cpu, oplog, stored, indexed, sent }: UnitCost, rate: number): Need {
  const { members, searchCopies, busy, memoryOfCore, coreHour, diskGbMonth, zoneGb, internetGb, hoursOfMonth } =
    ASSUMED;
  const cores = Object.fromEntries(
    Object.entries(cpu).map(([name, ms]) => [name, ((rate * ms) / 1000) * (name === 'mongod' ? members : 1)]),
  );
  const provided = Object.values(cores).reduce((sum, each) => sum + each, 0) / busy;
  const kept = ASSUMED.days * SECONDS_OF_DAY * rate;
  const diskGb = (kept * (stored * members + indexed * searchCopies)) / GB;
  const zoneMb = (rate * (oplog * (members - 1) + indexed * (searchCopies - 1))) / MB;
  const internetMb = (rate * sent) / MB;
  const monthly = (mbPerSecond: number) => (mbPerSecond * MB * hoursOfMonth * 3600) / GB;
  return {
    cores,
    provided,
    memoryGb: provided * memoryOfCore,
    oplogMb: (rate * oplog) / MB,
    diskGb,
    zoneMb,
    internetMb,
    dollars: {
      cores: provided * coreHour * hoursOfMonth,
      disks: diskGb * diskGbMonth,
      network: monthly(zoneMb) * zoneGb + monthly(internetMb) * internetGb,
    },
  };
}

/** Bytes of one unit as `npm run bench -- footprint` counted them; the page has them in its table. */
const COUNTED = {
  /** Of a delivery that succeeds at once, with a workflow or without: its record, its claim, its outcome. */
  delivery: { oplog: 2_070, onDisk: 123 + 240 },
  /** Of a text of 2 KB, one of 100 in a request. */
  item: { oplog: 73_000, kept: 47_000 },
} as const;

/** @returns the measured costs of a delivery without a workflow, and of a text with its delivery. @throws Error without these results */
function unitCosts(results: ReadonlyMap<string, BenchResult>): Record<'delivery' | 'item', UnitCost> {
  const figure = (bench: string, group: string, name: string): Figure => {
    const found = results.get(bench)?.groups[group]?.find((each) => each.name === name);
    if (!found) throw new Error(`no result of ${bench}: ${group}, ${name}`);
    return found;
  };
  const delivery: UnitCost = {
    cpu: cpuOf(figure('overview', 'Deliveries', 'completions, 50 in a transaction')),
    oplog: COUNTED.delivery.oplog,
    stored: COUNTED.delivery.onDisk,
    indexed: 0,
    sent: ASSUMED.deliveryBytes,
  };
  return {
    delivery,
    item: {
      // Measured from the request to the webhook.
      cpu: cpuOf(figure('overview', 'Indexing', 'abstracts of 1,000 characters')),
      oplog: COUNTED.item.oplog + delivery.oplog,
      stored: COUNTED.item.kept * ASSUMED.itemOnDisk + delivery.stored,
      indexed: ASSUMED.chunkBytes,
      sent: delivery.sent,
    },
  };
}

function cpuOf({ cpu = {} }: Figure): Record<string, number> {
  return Object.fromEntries(Object.entries(cpu).filter(([, ms]) => ms > 0));
}

/** The loads of the page, by heading. */
const LOADS: Record<string, ['delivery' | 'item', number]> = {
  '1,000 deliveries a second': ['delivery', 1_000],
  '100,000 deliveries a second': ['delivery', 100_000],
  '1,000 items a second': ['item', 1_000],
};

/** @returns the calculated part of docs/scaling.md, as Markdown */
export function renderScaling(results: ReadonlyMap<string, BenchResult>): string {
  const units = unitCosts(results);
  const needs = Object.values(LOADS).map(([unit, rate]) => needOf(units[unit], rate));
  const rates = Object.values(LOADS).map(([, rate]) => rate);
  const processes = [...new Set(needs.flatMap(({ cores }) => Object.keys(cores)))];
  const total = ({ dollars }: Need) => dollars.cores + dollars.disks + dollars.network;
  const row = (name: string, of: (need: Need, at: number) => string) => [name, ...needs.map(of)];
  const rows = [
    ...processes.map((name) =>
      row(`busy cores: ${LABELS[name] ?? name}`, ({ cores }) => (cores[name] === undefined ? '' : short(cores[name]))),
    ),
    row(`cores to provide, ${ASSUMED.busy * 100} % busy`, ({ provided }) => short(provided)),
    row(`memory, ${ASSUMED.memoryOfCore} GB with each core`, ({ memoryGb }) => size(memoryGb)),
    row('oplog', ({ oplogMb }) => `${short(oplogMb)} MB a second, ${size((oplogMb * 3600) / 1000)} an hour`),
    row(`disks of all copies after ${ASSUMED.days} days`, ({ diskGb }) => size(diskGb)),
    row('network between hosts', ({ zoneMb }) => `${short(zoneMb)} MB a second`),
    row('network to receivers', ({ internetMb }) => `${short(internetMb)} MB a second`),
    row('a month: cores', ({ dollars }) => money(dollars.cores)),
    row('a month: disks', ({ dollars }) => money(dollars.disks)),
    row('a month: network', ({ dollars }) => money(dollars.network)),
    row('a month, together', (need) => money(total(need))),
    row('a million of them', (need, at) => {
      const millions = (rates[at]! * ASSUMED.hoursOfMonth * 3600) / 1e6;
      return `$${(total(need) / millions).toPrecision(2)}`;
    }),
    row(`a second with one primary of ${ASSUMED.coresOfPrimary} cores`, ({ cores }, at) => {
      const ofPrimary = (cores.mongod ?? 0) / ASSUMED.members;
      return short((rates[at]! * ASSUMED.coresOfPrimary * ASSUMED.busy) / ofPrimary);
    }),
  ];
  return table(['', ...Object.keys(LOADS)], rows);
}

const LABELS: Record<string, string> = {
  mongod: `mongod, ${ASSUMED.members} members`,
  worker: 'workers',
  api: 'API',
  embedder: 'embedding',
  parsers: 'child processes of workers',
  temporal: 'Temporal',
};

function short(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en');
}

function size(gb: number): string {
  return gb >= 1_000 ? `${short(gb / 1000)} TB` : `${short(gb)} GB`;
}

function money(dollars: number): string {
  return `$${short(dollars)}`;
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map((name, n) => Math.max(3, name.length, ...rows.map((row) => row[n]!.length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, n) => cell.padEnd(widths[n]!)).join(' | ')} |`;
  return [line(columns), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

const BEGIN = '<!-- calculated by npm run bench -- page -->';
const END = '<!-- end of the calculation -->';

/** Puts the calculated part in its place on the page. @throws Error when the page has no place for it */
export function withScaling(page: string, calculated: string): string {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`docs/scaling.md has no ${BEGIN} … ${END}`);
  return `${before}${BEGIN}\n\n${calculated}\n\n${END}${after}`;
}
