import { setTimeout as wait } from 'node:timers/promises';
import { CONCURRENCY } from '../support/bare.js';
import type { BenchInstance } from '../support/instance.js';
import { runConcurrently } from '../support/measure.js';
import type { Figure } from '../support/results.js';
import { measureUnits } from '../support/units.js';
import { submitShortJob } from '../support/work.js';

const JOBS = 400;

/** Measures AI jobs with a provider that does almost nothing, from the request to the stored result. */
export async function measureJobs(instance: BenchInstance, bare: number, scale: number): Promise<Figure[]> {
  const finished = () => instance.collections.aiJobs.countDocuments({ org: 'bench', status: 'success' });
  const run = async (count: number) => {
    const target = (await finished()) + count;
    await runConcurrently(count, CONCURRENCY, () => submitShortJob(instance));
    while ((await finished()) < target) await wait(50);
  };
  const count = Math.max(1, Math.round(JOBS * scale));
  await run(40);
  const { perSecond, cpu } = await measureUnits(instance, count, () => run(count));
  return [
    { name: 'bare workflows', value: bare, unit: 'a second' },
    {
      name: 'jobs (language detection)',
      value: perSecond,
      unit: 'a second',
      ratio: { to: 'bare workflows', value: perSecond / bare },
      cpu,
    },
  ];
}
