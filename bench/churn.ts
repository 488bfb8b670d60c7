import { setTimeout as wait } from 'node:timers/promises';
import { call } from './support/api-client.js';
import { type BenchInstance, startBenchInstance } from './support/instance.js';
import { percentile } from './support/measure.js';
import { readProcessTree } from './support/process-memory.js';
import { type Figure, printFigures, writeResult } from './support/results.js';
import { createDatabase, proseText } from './support/work.js';

const MINUTES = 10;
/** Parts of the run, which are compared. */
const PARTS = 5;
const NOTES_PER_SECOND = 10;
/** Different ids: from then on, every note replaces an earlier one. */
const IDS = 3_000;
const NOTE_CHARACTERS = 300;
/** One question after the other, so many a second. */
const QUESTIONS_PER_SECOND = 5;
const DATABASE = 'churn';

/**
 * Measures questions to a database while its items are replaced: in each part of the run the response time, the processor
 * time of the API and its memory.
 */
export async function churn(minutes = String(MINUTES)): Promise<void> {
  const instance = await startBenchInstance();
  const partMs = (Number(minutes) * 60_000) / PARTS;
  const groups: Record<string, Figure[]> = {};
  try {
    await createDatabase(instance, DATABASE);
    const state = { notes: 0 };
    for (let part = 1; part <= PARTS; part += 1) {
      const until = performance.now() + partMs;
      const before = await instance.processorTimes();
      const [times] = await Promise.all([ask(instance, until), write(instance, until, state)]);
      const after = await instance.processorTimes();
      const share = (name: string) => ((after[name]! - before[name]!) / partMs) * 100;
      const figures: Figure[] = [
        { name: 'questions, p50', value: percentile(times, 0.5), unit: 'ms' },
        { name: 'questions, p95', value: percentile(times, 0.95), unit: 'ms' },
        ...['api', 'worker', 'embedder', 'mongod', 'temporal'].map((name) => ({
          name: `${name}, of a core`,
          value: share(name),
          unit: '%',
        })),
        { name: 'memory of the API', value: residentMiB(instance.pids.api()), unit: 'MiB' },
        { name: 'memory of the worker', value: residentMiB(instance.pids.worker()), unit: 'MiB' },
      ];
      const title = `part ${part} of ${PARTS}, ${state.notes} notes`;
      groups[title] = figures;
      printFigures(title, figures);
    }
    writeResult('churn', minutes, groups);
  } finally {
    await instance.stop();
  }
}

const residentMiB = (pid: number): number => readProcessTree(pid)[0]?.rss ?? Number.NaN;

/** Asks at a steady rate, one question at a time. @returns milliseconds */
async function ask(instance: BenchInstance, until: number): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; performance.now() < until; n += 1) {
    const sent = performance.now();
    // Each question is new to the model.
    await call(instance, 'POST', '/query', { database: DATABASE, query: proseText(n * 17 + times.length, 40) });
    times.push(performance.now() - sent);
    await wait(Math.max(0, 1_000 / QUESTIONS_PER_SECOND - (performance.now() - sent)));
  }
  return times;
}

/** Ingests notes at a steady rate. Every second one replaces an earlier note, and all do once there are enough. */
async function write(instance: BenchInstance, until: number, state: { notes: number }): Promise<void> {
  const requests: Promise<unknown>[] = [];
  while (performance.now() < until) {
    const n = state.notes;
    state.notes += 1;
    const added = Math.ceil(n / 2);
    const id = n % 2 === 0 && added < IDS ? added : (n * 7_919) % Math.min(Math.max(added, 1), IDS);
    const form = new FormData();
    form.set('database', DATABASE);
    form.set('upsert', 'true');
    form.set('memories', JSON.stringify([{ id: `note-${id}`, text: proseText(n, NOTE_CHARACTERS) }]));
    requests.push(call(instance, 'POST', '/context/ingest', form));
    await wait(1_000 / NOTES_PER_SECOND);
  }
  await Promise.all(requests);
}
