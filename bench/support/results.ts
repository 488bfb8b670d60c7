import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { arch, cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One measured value. */
export interface Figure {
  name: string;
  value: number;
  unit: string;
  /** The value as a share of another figure of the same run. */
  ratio?: { to: string; value: number };
  /** Milliseconds of a core for each unit, by process. */
  cpu?: Record<string, number>;
}

/** The figures of one run. */
export interface BenchResult {
  /** The benchmark. */
  name: string;
  /** How it was run, without `npm run bench -- `. */
  command: string;
  /** ISO 8601. */
  date: string;
  machine: Machine;
  /** By heading. */
  groups: Record<string, Figure[]>;
}

/** The heading of the figures of a sender that is no part of the product. */
export const DELIVERY_LIMITS = 'Deliveries by MongoDB and HTTP alone';

export interface Machine {
  processor: string;
  cores: number;
  memoryGiB: number;
  architecture: string;
  node: string;
  /** Load average of the last minute when the run ended. */
  load: number;
}

const FOLDER = fileURLToPath(new URL('../../../bench/results/', import.meta.url));

/**
 * Writes `bench/results/<name>.json`, in the place of an earlier result.
 * @param argument of the command, such as its scale
 */
export function writeResult(name: string, argument: string, groups: BenchResult['groups']): void {
  const machine: Machine = {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    architecture: arch(),
    node: process.version,
    load: rounded(loadavg()[0]!),
  };
  const result: BenchResult = {
    name,
    command: `${name} ${argument}`.trim(),
    date: new Date().toISOString(),
    machine,
    groups,
  };
  mkdirSync(FOLDER, { recursive: true });
  const path = join(FOLDER, `${name}.json`);
  writeFileSync(path, `${JSON.stringify(result, (_, value) => (isNumber(value) ? rounded(value) : value), 2)}\n`);
  console.log(`\nwritten to bench/results/${name}.json; npm run bench -- page writes docs/performance.md`);
}

/** @returns the stored results by the name of the benchmark */
export function readResults(folder = FOLDER): Map<string, BenchResult> {
  mkdirSync(folder, { recursive: true });
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  const results = files.map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as BenchResult);
  return new Map(results.map((result) => [result.name, result]));
}

export function printFigures(title: string, figures: readonly Figure[]): void {
  console.log(`\n${title}`);
  for (const { name, value, unit, ratio, cpu } of figures) {
    const parts = [
      `${name.padEnd(40)} ${String(rounded(value)).padStart(8)} ${unit}`,
      ratio && `${ratio.value.toFixed(2)} of ${ratio.to}`,
      cpu && `${sum(cpu).toFixed(2)} ms of CPU each (${describe(cpu)})`,
    ];
    console.log(parts.filter(Boolean).join('   '));
  }
}

export function sum(cpu: Record<string, number>): number {
  return Object.values(cpu).reduce((total, ms) => total + ms, 0);
}

function describe(cpu: Record<string, number>): string {
  return Object.entries(cpu)
    .map(([name, ms]) => `${name} ${ms.toFixed(2)}`)
    .join(', ');
}

/** Three significant digits: measurements are not more exact. */
function rounded(value: number): number {
  return value >= 1_000 ? Math.round(value) : Number(value.toPrecision(3));
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
