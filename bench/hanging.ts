import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { itemDedupeKey, itemDelivery } from '../domain/content/item-delivery.js';
import { createSealer } from '../domain/sealing.js';
import { pendingDelivery } from '../storage/webhooks/deliveries.js';
import { createRegistrations } from '../storage/webhooks/registrations.js';
import { connectTemporal } from '../temporal/connection.js';
import { createStarters } from '../temporal/starters.js';
import { startBenchInstance } from './support/instance.js';
import { startReceiver } from './support/receiver.js';

const DELIVERIES = 1_500;
const SETTLE_MS = 60_000;
const MEASURED_MS = 60_000;

/** Measures what a backlog of deliveries to a receiver that never responds costs while nothing else happens. */
export async function hanging(): Promise<void> {
  const instance = await startBenchInstance();
  const temporal = await connectTemporal(instance.temporalAddress, 'default');
  const { startDelivery } = createStarters(temporal);
  const { deliveries, mongoClient } = instance.collections;
  const receiver = await startReceiver(() => null);
  const org = 'hanging';
  try {
    const sealer = createSealer(randomBytes(32).toString('base64'));
    await createRegistrations(instance.collections, sealer).register(org, receiver.url, ['indexing.status_changed']);
    const records = Array.from({ length: DELIVERIES }, (_, n) => {
      const item = { org, id: `item-${n}`, database: 'notes', collection: 'default', database_id: 'tnt_hanging' };
      return pendingDelivery(itemDelivery(item, { status: 'completed' }, itemDedupeKey(`itm_${n}`, 1), new Date()));
    });
    await deliveries.insertMany(records);
    for (let n = 0; n < records.length; n += 20) await Promise.all(records.slice(n, n + 20).map(startDelivery));
    await wait(SETTLE_MS);
    const claims = async () => {
      const { opcounters } = await mongoClient.db('admin').command({ serverStatus: 1 });
      return opcounters.command as number;
    };
    const [before, claimsBefore] = [await instance.processorTimes(), await claims()];
    await wait(MEASURED_MS);
    const [after, claimsAfter] = [await instance.processorTimes(), await claims()];
    for (const [name, ms] of Object.entries(after)) {
      console.log(`${name.padEnd(10)} ${(((ms - before[name]!) / MEASURED_MS) * 100).toFixed(1)} % of a core`);
    }
    console.log(`MongoDB    ${((claimsAfter - claimsBefore) / (MEASURED_MS / 1000)).toFixed(1)} commands a second`);
  } finally {
    await receiver.close();
    await temporal.connection.close();
    await instance.stop();
  }
}
