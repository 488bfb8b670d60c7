import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { createFinishItem } from '../activities/content/finish-item.js';
import { createSealer } from '../domain/sealing.js';
import { createItems, type ItemRecord } from '../storage/content/items.js';
import { createDeliveries } from '../storage/webhooks/deliveries.js';
import { createRegistrations } from '../storage/webhooks/registrations.js';
import { connectTemporal } from '../temporal/connection.js';
import { createStarters } from '../temporal/starters.js';
import { createWorkerMetrics } from '../worker/metrics.js';
import { startBenchInstance } from './instance.js';
import { percentile } from './side-by-side.js';

const RECEIVERS = [1, 10, 100];
/** Deliveries a second that are offered, well under what the server takes, and for how long. */
const RATE = 20;
const SECONDS = 30;

/** From an item's terminal status to the receipt of its webhook, while a tenth of the receivers hang. */
export async function receivers(): Promise<void> {
  const instance = await startBenchInstance();
  const temporal = await connectTemporal(instance.temporalAddress, 'default');
  const { collections } = instance;
  const registrations = createRegistrations(collections, createSealer(randomBytes(32).toString('base64')));
  const finish = createFinishItem({
    mongoClient: collections.mongoClient,
    items: createItems(collections),
    deliveries: createDeliveries(collections),
    registrations,
    starters: createStarters(temporal),
    metrics: createWorkerMetrics(),
  });
  try {
    for (const count of RECEIVERS) {
      const hanging = Math.floor(count / 10);
      const ends = await Promise.all(Array.from({ length: count }, (_, n) => startReceiver(n < hanging)));
      const org = (n: number) => `bench-${count}-${n}`;
      for (const [n, { url }] of ends.entries()) await registrations.register(org(n), url, ['indexing.status_changed']);
      const total = RATE * SECONDS;
      await collections.items.insertMany(
        Array.from({ length: total }, (_, n) => underWay(`${count}-${n}`, org(n % count))),
      );
      const ended: Promise<unknown>[] = [];
      for (let n = 0; n < total; n++) {
        ended.push(finish({ item: `itm_${count}-${n}`, version: 1 }, { status: 'completed' }));
        await wait(1000 / RATE);
      }
      await Promise.all(ended);
      const healthy = ends.slice(hanging);
      const expected = Array.from({ length: total }, (_, n) => n).filter((n) => n % count >= hanging).length;
      while (received(healthy).length < expected) await wait(50);
      const delays = received(healthy);
      const show = (share: number) => `${percentile(delays, share).toFixed(0)} ms`;
      console.log(
        `${String(count).padStart(3)} receivers, ${hanging} of them hanging: ${expected} webhooks to the others, p50 ${show(0.5)}, p99 ${show(0.99)}, max ${show(1)}`,
      );
      for (const end of ends) end.close();
    }
  } finally {
    await temporal.connection.close();
    await instance.stop();
  }
}

interface TimedReceiver {
  url: string;
  /** Milliseconds from the payload's timestamp to its receipt. */
  delays: number[];
  close(): void;
}

const received = (all: readonly TimedReceiver[]) => all.flatMap(({ delays }) => delays);

async function startReceiver(hangs: boolean): Promise<TimedReceiver> {
  const delays: number[] = [];
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const { timestamp } = JSON.parse(Buffer.concat(pieces).toString());
    if (hangs) return;
    delays.push(Date.now() - Date.parse(timestamp));
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    delays,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** An item just before its end. */
function underWay(id: string, org: string): ItemRecord {
  const now = new Date();
  return {
    _id: `itm_${id}`,
    org,
    database_id: `tnt_${org}`,
    database: 'bench',
    collection: 'default',
    id,
    type: 'memory',
    version: 1,
    title: null,
    source: { kind: 'text', text: '' },
    bytes: 0,
    metadata: {},
    additional_metadata: {},
    batch: 'bench',
    indexing_status: 'graph_creation',
    error_code: null,
    error_message: null,
    check_at: new Date(now.getTime() + 60 * 60 * 1000),
    created_at: now,
    updated_at: now,
  };
}
