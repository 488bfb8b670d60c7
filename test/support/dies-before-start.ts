/**
 * A process that ends an item for real and is killed between the transaction and the start of the delivery's workflow:
 * `node dies-before-start.js <mongodb uri> <item key> <version>`.
 */
import { randomBytes } from 'node:crypto';
import { createFinish } from '../../activities/finish-item.js';
import { createSealer } from '../../domain/sealing.js';
import { createDeliveries } from '../../storage/deliveries.js';
import { createItems } from '../../storage/items.js';
import { connectMongo } from '../../storage/mongo.js';
import { createRegistrations } from '../../storage/registrations.js';
import type { Launcher } from '../../temporal/launcher.js';
import { createWorkerMetrics } from '../../worker/metrics.js';

const [uri, item, version] = process.argv.slice(2);
const mongo = await connectMongo(uri!, 'postback-test');
const finish = createFinish({
  mongo: mongo.client,
  items: createItems(mongo),
  deliveries: createDeliveries(mongo),
  registrations: createRegistrations(mongo, createSealer(randomBytes(32).toString('base64'))),
  launcher: {
    startDelivery: async () => process.kill(process.pid, 'SIGKILL'),
  } as unknown as Launcher,
  metrics: createWorkerMetrics(),
});
await finish({ item: item!, version: Number(version) }, { status: 'completed' });
