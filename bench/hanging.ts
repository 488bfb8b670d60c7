import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { createSealer } from '../domain/sealing.js';
import { createRegistrations } from '../storage/webhooks/registrations.js';
import { connectTemporal } from '../temporal/connection.js';
import { createCompletions } from './support/completions.js';
import { type BenchInstance, startBenchInstance } from './support/instance.js';
import { percentile } from './support/measure.js';
import { type BenchReceiver, startReceiver } from './support/receiver.js';
import { type Figure, printFigures, writeResult } from './support/results.js';

const DELIVERIES = 100_000;
/** How long each state is observed. Until then the first attempts have timed out, and the receiver counts as slow. */
const OBSERVED_SECONDS = 60;
/** Deliveries of the other receiver: as many a second, one at a time. */
const PER_SECOND = 5;

/**
 * Measures what a backlog of deliveries to a receiver that never responds costs, and what it costs another receiver.
 * @param count of the backlog
 * @param seconds for which each state is observed
 */
export async function hanging(count = String(DELIVERIES), seconds = String(OBSERVED_SECONDS)): Promise<void> {
  const observedMs = Number(seconds) * 1_000;
  const instance = await startBenchInstance();
  const temporal = await connectTemporal(instance.temporalAddress, 'default');
  const other = await startTimingReceiver();
  const receiver = await startReceiver(() => null);
  const backlog = createCompletions(instance, temporal, 'hanging');
  const healthy = createCompletions(instance, temporal, 'healthy');
  try {
    const sealer = createSealer(randomBytes(32).toString('base64'));
    const registrations = createRegistrations(instance.collections, sealer);
    await registrations.register('hanging', receiver.url, ['indexing.status_changed']);
    await registrations.register('healthy', other.url, ['indexing.status_changed']);

    const send = () => healthy.one('product', 1);
    for (let n = 0; n < 20; n += 1) await other.time(send);
    const quiet = await observe(instance, observedMs, 'quiet', () => other.time(send));
    await backlog.backlog(Number(count));
    await backlog.backlogDue();
    await wait(observedMs);
    const idle = await observe(instance, observedMs, `with ${count} deliveries that wait`);
    const busy = await observe(instance, observedMs, `with ${count} deliveries that wait, and another receiver`, () =>
      other.time(send),
    );
    const p99 = (waits: readonly number[]) => percentile(waits, 0.99);
    const groups = {
      'Processes, quiet, with another receiver': quiet.figures,
      'Processes, with the backlog alone': idle.figures,
      'Processes, with the backlog and another receiver': busy.figures,
      'The other receiver': [
        { name: 'p50 from commit to receipt, quiet', value: percentile(quiet.waits, 0.5), unit: 'ms' },
        { name: 'p99 from commit to receipt, quiet', value: p99(quiet.waits), unit: 'ms' },
        { name: 'p50 beside the backlog', value: percentile(busy.waits, 0.5), unit: 'ms' },
        {
          name: 'p99 beside the backlog',
          value: p99(busy.waits),
          unit: 'ms',
          ratio: { to: 'quiet', value: p99(busy.waits) / p99(quiet.waits) },
        },
      ],
    };
    printFigures('The other receiver', groups['The other receiver']);
    writeResult('hanging', `${count} ${seconds}`, groups);
  } finally {
    await Promise.all([receiver.close(), other.close()]);
    await temporal.connection.close();
    await instance.stop();
  }
}

/** Observes the processes for a while, and sends deliveries at a steady rate. @returns their waits in milliseconds */
async function observe(instance: BenchInstance, observedMs: number, title: string, send?: () => Promise<number>) {
  const waits: Promise<number>[] = [];
  const commands = async () => {
    const { opcounters } = await instance.collections.mongoClient.db('admin').command({ serverStatus: 1 });
    return Number(opcounters.command);
  };
  const [before, commandsBefore, started] = [await instance.processorTimes(), await commands(), performance.now()];
  while (performance.now() - started < observedMs) {
    if (send) waits.push(send());
    await wait(1_000 / PER_SECOND);
  }
  const received = await Promise.all(waits);
  const [after, commandsAfter, ms] = [await instance.processorTimes(), await commands(), performance.now() - started];
  const figures: Figure[] = Object.entries(after).map(([name, value]) => ({
    name,
    value: ((value - before[name]!) / ms) * 100,
    unit: '% of a core',
  }));
  figures.push({ name: 'MongoDB', value: (commandsAfter - commandsBefore) / (ms / 1000), unit: 'commands a second' });
  printFigures(title, figures);
  return { figures, waits: received };
}

interface TimingReceiver extends BenchReceiver {
  /** @returns milliseconds from the call until the delivery that it stores is received */
  time(send: () => Promise<string[]>): Promise<number>;
}

async function startTimingReceiver(): Promise<TimingReceiver> {
  const received = new Map<string, number>();
  const waiting = new Map<string, () => void>();
  const receiver = await startReceiver((body) => {
    const { delivery_id: id } = JSON.parse(body.toString());
    received.set(id, performance.now());
    waiting.get(id)?.();
    return 204;
  });
  return {
    ...receiver,
    async time(send) {
      const started = performance.now();
      const [id] = await send();
      if (!received.has(id!)) await new Promise<void>((done) => waiting.set(id!, done));
      waiting.delete(id!);
      return received.get(id!)! - started;
    },
  };
}
