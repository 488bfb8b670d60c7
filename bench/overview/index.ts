import { setTimeout as wait } from 'node:timers/promises';
import { connectTemporal } from '../../temporal/connection.js';
import { call } from '../support/api-client.js';
import { measureBare } from '../support/bare.js';
import { type BenchInstance, startBenchInstance } from '../support/instance.js';
import { durationMs } from '../support/measure.js';
import { readProcessTree, sharedOnce } from '../support/process-memory.js';
import { type CountingReceiver, startCountingReceiver } from '../support/receiver.js';
import { type Figure, printFigures, writeResult } from '../support/results.js';
import { createDatabase, ingestMemories } from '../support/work.js';
import { measureDeliveries } from './deliveries.js';
import { measureIndexing } from './indexing.js';
import { measureJobs } from './jobs.js';

const LARGE_INGEST = 1_000;
/** How long the product rests before its idle memory is read. */
const REST_MS = 15_000;

/**
 * Measures indexing, deliveries, AI jobs and memory in one run, beside their limits: embedding alone, and bare workflows.
 * @param scale of the number of units, such as 0.1 for a short run
 */
export async function overview(scale = '1'): Promise<void> {
  const factor = Number(scale);
  const instance = await startBenchInstance();
  const temporal = await connectTemporal(instance.temporalAddress, 'default');
  const receiver = await startCountingReceiver();
  const groups: Record<string, Figure[]> = {};
  const add = (title: string, figures: Figure[]) => {
    groups[title] = figures;
    printFigures(title, figures);
  };
  try {
    await wait(REST_MS * Math.min(1, factor));
    const idle = readMemory(instance);
    await call(instance, 'POST', '/webhooks/indexing', { url: receiver.url, generate_signing_secret: true });
    const bare = await measureBare(instance, temporal);
    add('AI jobs', await measureJobs(instance, bare, factor));
    const deliveries = await measureDeliveries(instance, temporal, receiver, bare, factor);
    for (const [title, figures] of Object.entries(deliveries)) add(title, figures);
    add('Indexing', await measureIndexing(instance, receiver, factor));
    const large = await measureLargeIngest(instance, receiver, Math.round(LARGE_INGEST * factor));
    add('One large request', large.figures);
    add('Memory', memoryFigures(idle, large.peak));
    writeResult('overview', scale, groups);
  } finally {
    await receiver.close();
    await temporal.connection.close();
    await instance.stop();
  }
}

async function measureLargeIngest(instance: BenchInstance, receiver: CountingReceiver, count: number) {
  await createDatabase(instance, 'large');
  const target = receiver.count() + count;
  let peak = readMemory(instance);
  const timer = setInterval(() => {
    const now = readMemory(instance);
    if (now.together > peak.together) peak = now;
  }, 500);
  const responseMs = await durationMs(() => ingestMemories(instance, 'large', 'large', count));
  const remainingMs = await durationMs(() => receiver.reached(target));
  clearInterval(timer);
  const figures: Figure[] = [
    { name: `response to ${count} memories of 2 KB`, value: responseMs, unit: 'ms' },
    { name: 'all webhooks received after', value: (responseMs + remainingMs) / 1000, unit: 's' },
  ];
  return { figures, peak };
}

interface Memory {
  /** MiB with shared pages, by process. */
  processes: Record<string, number>;
  /** MiB, shared pages counted once. */
  together: number;
}

/** The processes of the instance are children of this process, and of those. */
function readMemory({ pids, embedderPid, serverPids }: BenchInstance): Memory {
  const roots = [pids.api(), pids.worker(), embedderPid(), ...serverPids()].filter((pid) => pid !== undefined);
  const all = roots.flatMap(readProcessTree);
  const processes: Record<string, number> = {};
  for (const { name, rss } of all) processes[name] = (processes[name] ?? 0) + rss;
  return { processes, together: sharedOnce(all) };
}

function memoryFigures(idle: Memory, peak: Memory): Figure[] {
  const figures = (when: string, { processes, together }: Memory): Figure[] => [
    ...Object.entries(processes).map(([name, value]) => ({ name: `${name}, ${when}`, value, unit: 'MiB' })),
    { name: `together, ${when}`, value: together, unit: 'MiB' },
  ];
  return [...figures('idle', idle), ...figures('at work', peak)];
}
