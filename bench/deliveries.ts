import type { DeliveryState } from '../domain/states.js';
import type { DeliveryRecord } from '../storage/webhooks/deliveries.js';
import { call } from './api-client.js';
import { pendingBenchDelivery } from './delivery-record.js';
import { type BenchInstance, startBenchInstance } from './instance.js';
import { percentile } from './side-by-side.js';

const SIZES = [10_000, 1_000_000];
const PAGE = 10_000;
const REQUESTS = 200;
const INSERT_AT_ONCE = 10_000;

/** What a page of the delivery list costs: the first and the 10,000th, filtered and not, of few and of many records. */
export async function deliveryList(): Promise<void> {
  const instance = await startBenchInstance();
  try {
    let stored = 0;
    for (const size of SIZES) {
      await store(instance, stored, size);
      stored = size;
      for (const status of [undefined, 'delivered'] as const) await measure(instance, size, status);
    }
  } finally {
    await instance.stop();
  }
}

async function store(instance: BenchInstance, from: number, to: number): Promise<void> {
  for (let first = from; first < to; first += INSERT_AT_ONCE) {
    await instance.collections.deliveries.insertMany(
      Array.from({ length: INSERT_AT_ONCE }, (_, n) => ended(first + n)),
      { ordered: false },
    );
  }
}

/** Pages of one record, so that the 10,000th page exists among 10,000 records too. */
async function measure(instance: BenchInstance, size: number, status: DeliveryState | undefined): Promise<void> {
  const filter = { org: 'bench', ...(status === undefined ? {} : { status }) };
  const count = await instance.collections.deliveries.countDocuments(filter);
  const page = Math.min(PAGE, count);
  const [before, wanted] = await instance.collections.deliveries
    .find(filter, { projection: { _id: 1 } })
    .sort({ _id: -1 })
    .skip(page - 2)
    .limit(2)
    .toArray();
  const cursor = Buffer.from(before!._id).toString('base64url');
  const path = `/webhooks/indexing/deliveries?limit=1${status === undefined ? '' : `&status=${status}`}`;
  const times: { first: number[]; deep: number[] } = { first: [], deep: [] };
  // In turns, so that noise falls on both alike.
  for (let n = 0; n < REQUESTS; n++) {
    times.first.push(await timed(() => call(instance, 'GET', path)));
    times.deep.push(
      await timed(async () => {
        const { deliveries } = await call(instance, 'GET', `${path}&cursor=${cursor}`);
        if (deliveries[0].delivery_id !== wanted!._id) throw new Error(`page ${page} shows another record`);
      }),
    );
  }
  const show = (values: number[]) =>
    `p50 ${percentile(values, 0.5).toFixed(1)} ms, p95 ${percentile(values, 0.95).toFixed(1)} ms`;
  console.log(
    `${String(size).padStart(9)} records, ${(status ?? 'any').padEnd(9)}  page 1: ${show(times.first)}   page ${page}: ${show(times.deep)}`,
  );
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** One in ten was given up, the others were delivered. */
function ended(n: number): DeliveryRecord {
  // Ids as the product makes them sort by time; here by number.
  const pending = pendingBenchDelivery(`dlv_${String(n).padStart(26, '0')}`, n);
  return { ...pending, status: n % 10 === 0 ? 'permanently_failed' : 'delivered', attempts: 1, next_attempt_at: null };
}
