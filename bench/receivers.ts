import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { createEndItems } from '../activities/content/end-items.js';
import { createSealer } from '../domain/sealing.js';
import { createItems, type ItemRecord } from '../storage/content/items.js';
import { createRemovedItems } from '../storage/content/removed-items.js';
import { createDeliveries } from '../storage/webhooks/deliveries.js';
import { createRegistrations } from '../storage/webhooks/registrations.js';
import { connectTemporal } from '../temporal/connection.js';
import { createStarters } from '../temporal/starters.js';
import { createWorkerMetrics } from '../worker/metrics.js';
import { startBenchInstance } from './support/instance.js';
import { percentile } from './support/measure.js';
import { type BenchReceiver, startReceiver } from './support/receiver.js';
import { benchItem } from './support/records.js';

const RECEIVERS = [1, 10, 100];
/** Items finished per second, well below the limit of the server. */
const RATE = 20;
const SECONDS = 30;
const HOUR_MS = 60 * 60 * 1000;

/** Measures the time from an item's terminal status to its received webhook, while a tenth of the receivers hang. */
export async function receivers(): Promise<void> {
  const instance = await startBenchInstance();
  const temporal = await connectTemporal(instance.temporalAddress, 'default');
  const { collections } = instance;
  const registrations = createRegistrations(collections, createSealer(randomBytes(32).toString('base64')));
  const deliveries = createDeliveries(collections);
  const end = createEndItems({
    mongoClient: collections.mongoClient,
    items: createItems(collections),
    deliveries,
    removedItems: createRemovedItems({ ...collections, registrations, deliveries }),
    clearOutdated: async () => undefined,
    registrations,
    starters: createStarters(temporal),
    metrics: createWorkerMetrics(),
    now: collections.now,
  });
  try {
    for (const count of RECEIVERS) {
      const hanging = Math.floor(count / 10);
      const all = await Promise.all(Array.from({ length: count }, (_, n) => startTimedReceiver(n < hanging)));
      const org = (n: number) => `bench-${count}-${n}`;
      for (const [n, { url }] of all.entries()) await registrations.register(org(n), url, ['indexing.status_changed']);
      const total = RATE * SECONDS;
      await collections.items.insertMany(
        Array.from({ length: total }, (_, n) => unfinishedItem(`${count}-${n}`, org(n % count))),
      );
      const finished: Promise<unknown>[] = [];
      for (let n = 0; n < total; n++) {
        finished.push(
          end([{ item: `itm_${count}-${n}`, version: 1, org: org(n % count), database_id: 'tnt_bench' }], {
            status: 'completed',
          }),
        );
        await wait(1000 / RATE);
      }
      await Promise.all(finished);
      const healthy = all.slice(hanging);
      const expected = Array.from({ length: total }, (_, n) => n).filter((n) => n % count >= hanging).length;
      while (delaysOf(healthy).length < expected) await wait(50);
      const delays = delaysOf(healthy);
      const show = (share: number) => `${percentile(delays, share).toFixed(0)} ms`;
      console.log(
        `${String(count).padStart(3)} receivers, ${hanging} of them hanging: ${expected} webhooks to the others, p50 ${show(0.5)}, p99 ${show(0.99)}, max ${show(1)}`,
      );
      await Promise.all(all.map((receiver) => receiver.close()));
    }
  } finally {
    await temporal.connection.close();
    await instance.stop();
  }
}

interface TimedReceiver extends BenchReceiver {
  /** Milliseconds from the payload's timestamp to its receipt. */
  delays: number[];
}

const delaysOf = (receivers: readonly TimedReceiver[]) => receivers.flatMap(({ delays }) => delays);

async function startTimedReceiver(hangs: boolean): Promise<TimedReceiver> {
  const delays: number[] = [];
  const receiver = await startReceiver((body) => {
    if (hangs) return null;
    delays.push(Date.now() - Date.parse(JSON.parse(body.toString()).timestamp));
    return 204;
  });
  return { ...receiver, delays };
}

/** An item in the last step of indexing, which the reconciler leaves alone. */
function unfinishedItem(id: string, org: string): ItemRecord {
  return benchItem({
    _id: `itm_${id}`,
    org,
    database_id: `tnt_${org}`,
    id,
    indexing_status: 'graph_creation',
    check_at: new Date(Date.now() + HOUR_MS),
  });
}
