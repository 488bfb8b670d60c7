import { crashes } from './crashes.js';
import { deliveryList } from './deliveries.js';
import { footprint } from './footprint.js';
import { jobs } from './jobs.js';
import { latency } from './latency.js';
import { receivers } from './receivers.js';
import { retrieval } from './retrieval.js';
import { throughput } from './throughput.js';

/** `postback bench`: what is measured is described in `bench/README.md`. */
export async function bench(name: string, folder?: string): Promise<void> {
  if (name === 'throughput') return throughput();
  if (name === 'crashes') return crashes();
  if (name === 'deliveries') return deliveryList();
  if (name === 'footprint') return footprint();
  if (name === 'jobs') return jobs();
  if (name === 'latency') return latency();
  if (name === 'receivers') return receivers();
  if (name === 'retrieval' && folder !== undefined) return retrieval(folder);
  throw new Error(
    'usage: npm run bench [-- throughput | deliveries | receivers | jobs | footprint | latency | crashes | retrieval <folder>]',
  );
}
