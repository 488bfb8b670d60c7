/**
 * A process that completes an item and is killed between the transaction and the start of the delivery's workflow:
 * `node dies-before-start.js <mongodb uri> <item key>`.
 */
import { randomBytes } from 'node:crypto';
import { createEndItems } from '../../activities/content/end-items.js';
import { refOf } from '../../domain/content/workflow-contract.js';
import { createSealer } from '../../domain/sealing.js';
import { createItems } from '../../storage/content/items.js';
import { createRemovedItems } from '../../storage/content/removed-items.js';
import { createDeliveries } from '../../storage/webhooks/deliveries.js';
import { createRegistrations } from '../../storage/webhooks/registrations.js';
import type { Starters } from '../../temporal/starters.js';
import { createWorkerMetrics } from '../../worker/metrics.js';
import { testCollections } from './mongodb.js';

const [uri, item] = process.argv.slice(2);
const collections = await testCollections(uri!);
const notified = {
  deliveries: createDeliveries(collections),
  registrations: createRegistrations(collections, createSealer(randomBytes(32).toString('base64'))),
};
const end = createEndItems({
  mongoClient: collections.mongoClient,
  items: createItems(collections),
  removedItems: createRemovedItems({ ...collections, ...notified }),
  clearOutdated: async () => undefined,
  ...notified,
  starters: {
    startDeliveries: async () => process.kill(process.pid, 'SIGKILL'),
  } as unknown as Starters,
  metrics: createWorkerMetrics(),
  now: collections.now,
});
const record = await collections.items.findOne({ _id: item! });
await end([refOf(record!)], { status: 'completed' });
