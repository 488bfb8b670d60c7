import { activity } from './activity.js';
import { age } from './age.js';
import { crashes } from './crashes.js';
import { deliveryList } from './deliveries.js';
import { fairness } from './fairness.js';
import { firstAttempts } from './first-attempts.js';
import { footprint } from './footprint.js';
import { fusion } from './fusion.js';
import { hanging } from './hanging.js';
import { hostile } from './hostile.js';
import { indexing } from './indexing.js';
import { jobs } from './jobs.js';
import { latency } from './latency.js';
import { memory } from './memory.js';
import { overview } from './overview/index.js';
import { receivers } from './receivers.js';
import { retrieval } from './retrieval.js';
import { search } from './search/index.js';

interface Benchmark {
  run(argument?: string, ...more: string[]): Promise<void>;
  /** The argument in the usage message; in brackets when it may be absent. */
  argument?: string;
}

const BENCHMARKS: Record<string, Benchmark> = {
  overview: { run: overview, argument: '[<scale>]' },
  age: { run: age, argument: '[<scale>]' },
  hanging: { run: hanging, argument: '[<deliveries> [<seconds>]]' },
  hostile: { run: hostile, argument: '[<pattern>]' },
  latency: { run: latency, argument: '[<chunks>]' },
  memory: { run: memory, argument: '[<items>]' },
  'first-attempts': { run: firstAttempts, argument: '[<scale>]' },
  jobs: { run: jobs },
  indexing: { run: indexing },
  deliveries: { run: deliveryList },
  activity: { run: activity, argument: '[<records>]' },
  receivers: { run: receivers },
  footprint: { run: footprint },
  crashes: { run: crashes },
  cluster: {
    // It needs files of the tests that the package leaves out.
    run: async (...args) => (await import('./cluster/index.js')).cluster(...args.filter((each) => each !== undefined)),
    argument: '[<minutes>] [--embedded] [--seed <number>] [--from <git ref>]',
  },
  fairness: { run: fairness },
  retrieval: { run: (folder) => retrieval(folder!), argument: '<folder>' },
  search: { run: (folder) => search(folder!), argument: '<folder>' },
  page: { run: async () => (await import('./page/index.js')).page() },
  fuzz: { run: async (cases) => (await import('./fuzz/index.js')).fuzzing(cases), argument: '[<cases>]' },
  schemathesis: {
    run: async (minutes) => (await import('./schemathesis.js')).schemathesis(minutes),
    argument: '[<minutes>]',
  },
  fusion: { run: (folder) => fusion(folder!), argument: '<folder>' },
};

/**
 * `postback bench`: runs a benchmark of `bench/README.md` by its name.
 * @throws Error for an unknown name, and without an argument that is required
 */
export async function bench(name = 'overview', [argument, ...more]: readonly string[] = []): Promise<void> {
  const benchmark = BENCHMARKS[name];
  if (benchmark && (argument !== undefined || !benchmark.argument?.startsWith('<')))
    return benchmark.run(argument, ...more);
  const usage = Object.entries(BENCHMARKS).map(([each, { argument: text = '' }]) => `${each} ${text}`.trim());
  throw new Error(`usage: npm run bench [-- ${usage.join(' | ')}]`);
}
