import type { Stall } from './probe.js';

/** What a case cost the others. */
export interface CaseResult {
  name: string;
  outcome: string;
  api: Stall;
  worker: Stall;
  /** The longest wait of a neighbour's note, milliseconds. */
  noteMs: number;
  /** Peaks, MiB; each with its child processes. */
  memory: { api: number; worker: number };
}

const AIMS = { stallMs: 250, noteMs: 2_000, apiMiB: 400, workersMiB: 900 };

const COLUMNS = ['case'.padEnd(44), 'API stall', 'worker stall', '    note', ' API MiB', 'workers MiB', 'outcome'];

export function printHeading(quietMs: number, longestMs: number): void {
  console.log(`
a neighbour's note, quiet: median ${quietMs.toFixed(0)} ms, longest ${longestMs.toFixed(0)} ms
stalls in ms: without waiting for a processor (as clients saw it)

${COLUMNS.join('  ')}`);
}

export function printCase({ name, outcome, api, worker, noteMs, memory }: CaseResult): void {
  const stall = ({ net, wall }: Stall, width: number) => `${net.toFixed(0)} (${wall.toFixed(0)})`.padStart(width);
  const number = (value: number, width: number) => value.toFixed(0).padStart(width);
  console.log(
    [
      name.padEnd(44),
      stall(api, 9),
      stall(worker, 12),
      number(noteMs, 8),
      number(memory.api, 8),
      number(memory.worker, 11),
      outcome.slice(0, 100),
    ].join('  '),
  );
}

/** Prints the aims, and the cases that miss them. */
export function printSummary(results: readonly CaseResult[], quietMs: number): void {
  const misses = results.flatMap((result) => missesOf(result, quietMs).map((miss) => `  ${result.name}: ${miss}`));
  console.log(`
aims: no stall over ${AIMS.stallMs} ms, a neighbour's note within ${AIMS.noteMs} ms of its quiet time, API at most ${AIMS.apiMiB} MiB,
all workers together at most ${AIMS.workersMiB} MiB
${results.length} cases, ${misses.length === 0 ? 'all aims reached' : `${misses.length} misses:`}`);
  for (const miss of misses) console.log(miss);
}

function missesOf({ api, worker, noteMs, memory }: CaseResult, quietMs: number): string[] {
  const rows: [string, number, number, string][] = [
    ['stall of the API', api.net, AIMS.stallMs, 'ms'],
    ['stall of the worker', worker.net, AIMS.stallMs, 'ms'],
    ['note later than quiet by', noteMs - quietMs, AIMS.noteMs, 'ms'],
    ['memory of the API', memory.api, AIMS.apiMiB, 'MiB'],
    ['memory of the workers', memory.worker, AIMS.workersMiB, 'MiB'],
  ];
  return rows
    .filter(([, value, aim]) => value > aim)
    .map(([what, value, , unit]) => `${what} ${value.toFixed(0)} ${unit}`);
}
