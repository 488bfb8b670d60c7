import type { Logger } from 'pino';
import type { SearchIndex } from '../domain/search.js';
import type { Databases } from '../storage/databases.js';
import type { Deliveries } from '../storage/deliveries.js';
import type { Files } from '../storage/files.js';
import type { Items } from '../storage/items.js';
import type { Launcher } from '../temporal/launcher.js';

export interface SweepDependencies {
  items: Items;
  deliveries: Deliveries;
  databases: Databases;
  files: Files;
  index: SearchIndex;
  launcher: Launcher;
  log: Logger;
  /** Milliseconds without a sign of life after which a workflow is looked for. */
  quietMs: number;
}

export type SweepActivities = ReturnType<typeof createSweepActivities>;

const BATCH = 1_000;
/** An upload that takes longer than this is not under way any more. */
const ABANDONED_UPLOAD_MS = 6 * 60 * 60 * 1000;

/** Starts what is missing. Starting work that is under way does nothing, so the sweep need not know which is which. */
export function createSweepActivities({
  items,
  deliveries,
  databases,
  files,
  index,
  launcher,
  log,
  quietMs,
}: SweepDependencies) {
  return {
    async restartLostWork(): Promise<{ items: number; deliveries: number; databases: number }> {
      const before = new Date(Date.now() - quietMs);
      const [lostItems, lostDeliveries, lostDatabases] = await Promise.all([
        items.stale(before, BATCH),
        deliveries.stale(before, BATCH),
        databases.stale(before),
      ]);
      for (const item of lostItems) await launcher.startItem(item);
      for (const delivery of lostDeliveries) await launcher.startDelivery(delivery);
      for (const database of lostDatabases) {
        await launcher.startProvisioning({ org: database.org, tenant: database._id }, database.name);
      }
      const found = { items: lostItems.length, deliveries: lostDeliveries.length, databases: lostDatabases.length };
      if (found.items + found.deliveries + found.databases > 0) log.info(found, 'sweep looked after quiet work');
      return found;
    },

    async dropAbandonedFiles(): Promise<void> {
      for (const file of await files.unclaimedBefore(new Date(Date.now() - ABANDONED_UPLOAD_MS), BATCH)) {
        if (await items.anyOfBatch(file.batch)) await files.claim(file.batch);
        else await files.remove(file.file_id);
      }
    },

    async compactSearchIndex(): Promise<void> {
      for (const database of await databases.all()) {
        if (database.status === 'ready') await index.compact(database._id);
      }
    },
  };
}
