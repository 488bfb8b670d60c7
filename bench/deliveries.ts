import type { DeliveryState } from '../domain/webhooks/states.js';
import type { DeliveryRecord } from '../storage/webhooks/deliveries.js';
import { call } from './support/api-client.js';
import { type BenchInstance, startBenchInstance } from './support/instance.js';
import { durationMs, percentile } from './support/measure.js';
import { benchDelivery } from './support/records.js';

const SIZES = [10_000, 1_000_000];
const PAGE = 10_000;
const REQUESTS = 200;
const INSERT_BATCH = 10_000;

/** Measures pages 1 and 10,000 of the delivery list, with and without a filter, with few and with many records. */
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
  for (let first = from; first < to; first += INSERT_BATCH) {
    await instance.collections.deliveries.insertMany(
      Array.from({ length: INSERT_BATCH }, (_, n) => endedDelivery(first + n)),
      { ordered: false },
    );
  }
}

/** A page has one record, so that 10,000 records have 10,000 pages. */
async function measure(instance: BenchInstance, size: number, status: DeliveryState | undefined): Promise<void> {
  const filter = { org: 'bench', ...(status === undefined ? {} : { status }) };
  const count = await instance.collections.deliveries.countDocuments(filter);
  const page = Math.min(PAGE, count);
  const [previous, expected] = await instance.collections.deliveries
    .find(filter, { projection: { _id: 1 } })
    .sort({ _id: -1 })
    .skip(page - 2)
    .limit(2)
    .toArray();
  const cursor = previous!._id;
  const path = `/webhooks/indexing/deliveries?limit=1${status === undefined ? '' : `&status=${status}`}`;
  const times: { first: number[]; deep: number[] } = { first: [], deep: [] };
  // In turns, so that noise affects both pages alike.
  for (let n = 0; n < REQUESTS; n++) {
    times.first.push(await durationMs(() => call(instance, 'GET', path)));
    times.deep.push(
      await durationMs(async () => {
        const { deliveries } = await call(instance, 'GET', `${path}&cursor=${cursor}`);
        if (deliveries[0].delivery_id !== expected!._id) throw new Error(`page ${page} shows another record`);
      }),
    );
  }
  const show = (values: number[]) =>
    `p50 ${percentile(values, 0.5).toFixed(1)} ms, p95 ${percentile(values, 0.95).toFixed(1)} ms`;
  console.log(
    `${String(size).padStart(9)} records, ${(status ?? 'any').padEnd(9)}  page 1: ${show(times.first)}   page ${page}: ${show(times.deep)}`,
  );
}

/** One in ten is permanently failed, the others are delivered. */
function endedDelivery(n: number): DeliveryRecord {
  // The product's ids sort by time; these sort by number.
  const pending = benchDelivery(`dlv_${String(n).padStart(26, '0')}`, n);
  return { ...pending, status: n % 10 === 0 ? 'permanently_failed' : 'delivered', attempts: 1, next_attempt_at: null };
}
