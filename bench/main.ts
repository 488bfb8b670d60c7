import { crashes } from './crashes.js';
import { deliveryList } from './deliveries.js';
import { fairness } from './fairness.js';
import { footprint } from './footprint.js';
import { hanging } from './hanging.js';
import { jobs } from './jobs.js';
import { latency } from './latency.js';
import { receivers } from './receivers.js';
import { retrieval } from './retrieval.js';
import { throughput } from './throughput.js';

const BENCHMARKS: Record<string, () => Promise<void>> = {
  throughput,
  deliveries: deliveryList,
  receivers,
  jobs,
  footprint,
  latency,
  crashes,
  fairness,
  hanging,
};

/**
 * `postback bench`: runs a benchmark of `bench/README.md` by its name.
 * @param folder the test collection for `retrieval`
 * @throws Error for an unknown name
 */
export async function bench(name: string, folder?: string): Promise<void> {
  if (name === 'retrieval' && folder !== undefined) return retrieval(folder);
  const benchmark = BENCHMARKS[name];
  if (benchmark) return benchmark();
  throw new Error(`usage: npm run bench [-- ${Object.keys(BENCHMARKS).join(' | ')} | retrieval <folder>]`);
}
