import type { BenchInstance } from './instance.js';
import { durationMs } from './measure.js';

/** What so many units of work took. */
export interface Units {
  perSecond: number;
  /** Milliseconds of a core for each unit, by process. */
  cpu: Record<string, number>;
}

/** Measures work that ends when all its units have ended. */
export async function measureUnits(
  instance: Pick<BenchInstance, 'processorTimes'>,
  count: number,
  work: () => Promise<unknown>,
): Promise<Units> {
  const before = await instance.processorTimes();
  const ms = await durationMs(work);
  const after = await instance.processorTimes();
  const cpu = Object.entries(after).map(([name, value]) => [name, Math.max(0, value - (before[name] ?? 0)) / count]);
  return { perSecond: count / (ms / 1000), cpu: Object.fromEntries(cpu) };
}
