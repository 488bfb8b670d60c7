import { runProcess } from '../runtime/process.js';
import { activity } from './activity.js';
import { age } from './age.js';
import { churn } from './churn.js';
import { cluster } from './cluster/index.js';
import { crashes } from './crashes.js';
import { deliveryList } from './deliveries.js';
import { fairness } from './fairness.js';
import { firstAttempts } from './first-attempts.js';
import { footprint } from './footprint.js';
import { fusion } from './fusion/index.js';
import { fuzzing } from './fuzz/index.js';
import { graph } from './graph/index.js';
import { hanging } from './hanging.js';
import { hostile } from './hostile.js';
import { indexing } from './indexing.js';
import { jobs } from './jobs.js';
import { latency } from './latency.js';
import { memory } from './memory.js';
import { ocr } from './ocr/index.js';
import { overview } from './overview/index.js';
import { page } from './page/index.js';
import { receivers } from './receivers.js';
import { retrieval } from './retrieval.js';
import { schemathesis } from './schemathesis.js';
import { search } from './search/index.js';

interface Benchmark {
  run(argument?: string, ...more: string[]): Promise<void>;
  /** The argument in the usage message; in brackets when it may be absent. */
  argument?: string;
}

const BENCHMARKS: Record<string, Benchmark> = {
  overview: { run: overview, argument: '[<scale>]' },
  churn: { run: churn, argument: '[<minutes>]' },
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
    run: (...args) => cluster(...args.filter((each) => each !== undefined)),
    argument: '[<minutes>] [--embedded] [--seed <number>] [--from <git ref>]',
  },
  fairness: { run: fairness },
  retrieval: { run: (folder) => retrieval(folder!), argument: '<folder>' },
  search: { run: (folder) => search(folder!), argument: '<folder>' },
  page: { run: page },
  fuzz: { run: fuzzing, argument: '[<cases>]' },
  schemathesis: { run: schemathesis, argument: '[<minutes>]' },
  fusion: { run: (folder, ...more) => fusion(folder!, ...more), argument: '<folder>...' },
  graph: { run: graph },
  ocr: { run: ocr },
};

/**
 * Runs a benchmark of `bench/README.md` by its name.
 * @throws Error for an unknown name, and without an argument that is required
 */
async function bench(name = 'overview', argument?: string, ...more: string[]): Promise<void> {
  const benchmark = BENCHMARKS[name];
  if (benchmark && (argument !== undefined || !benchmark.argument?.startsWith('<')))
    return benchmark.run(argument, ...more);
  const usage = Object.entries(BENCHMARKS).map(([each, { argument: text = '' }]) => `${each} ${text}`.trim());
  throw new Error(`usage: npm run bench [-- ${usage.join(' | ')}]`);
}

await runProcess(() => bench(...process.argv.slice(2)));
// Whatever its libraries keep open.
process.exit();
