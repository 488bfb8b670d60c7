import { crashes } from './crashes.js';
import { deliveryList } from './deliveries.js';
import { fairness } from './fairness.js';
import { footprint } from './footprint.js';
import { fusion } from './fusion.js';
import { hanging } from './hanging.js';
import { hostile } from './hostile.js';
import { indexing } from './indexing.js';
import { jobs } from './jobs.js';
import { lanes } from './lanes.js';
import { latency } from './latency.js';
import { memory } from './memory.js';
import { receivers } from './receivers.js';
import { retrieval } from './retrieval.js';
import { throughput } from './throughput.js';

const BENCHMARKS: Record<string, () => Promise<void>> = {
  throughput,
  deliveries: deliveryList,
  indexing,
  receivers,
  jobs,
  footprint,
  latency,
  crashes,
  fairness,
  hanging,
  lanes,
};

/**
 * `postback bench`: runs a benchmark of `bench/README.md` by its name.
 * @param argument the folder of the test collection for `retrieval` and `fusion`; for `hostile`, a part of the names of the cases to run; for `memory`, the number of items
 * @throws Error for an unknown name
 */
export async function bench(name: string, argument?: string): Promise<void> {
  if (name === 'retrieval' && argument !== undefined) return retrieval(argument);
  if (name === 'fusion' && argument !== undefined) return fusion(argument);
  if (name === 'hostile') return hostile(argument);
  if (name === 'memory') return memory(argument);
  const benchmark = BENCHMARKS[name];
  if (benchmark) return benchmark();
  throw new Error(
    `usage: npm run bench [-- ${Object.keys(BENCHMARKS).join(' | ')} | hostile [<pattern>] | memory [<items>] | retrieval <folder> | fusion <folder>]`,
  );
}
