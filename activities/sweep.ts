import type { Logger } from 'pino';
import type { SearchIndex } from '../domain/search.js';
import type { SweepFindings } from '../domain/work.js';
import type { AiJobs } from '../storage/ai-jobs.js';
import type { Connectors } from '../storage/connectors.js';
import type { CrewExecutions } from '../storage/crew-executions.js';
import type { Databases } from '../storage/databases.js';
import type { Deliveries } from '../storage/deliveries.js';
import type { Files } from '../storage/files.js';
import type { ItemCatalogue } from '../storage/item-catalogue.js';
import type { Items } from '../storage/items.js';
import type { RemovedItems } from '../storage/removed-items.js';
import type { Uploads } from '../storage/uploads.js';
import type { Launcher } from '../temporal/launcher.js';
import { settleConnector } from '../temporal/settle-connector.js';
import { withHeartbeat } from './heartbeat.js';

export interface SweepDependencies {
  items: Items;
  itemCatalogue: ItemCatalogue;
  removedItems: RemovedItems;
  aiJobs: AiJobs;
  crewExecutions: CrewExecutions;
  uploads: Uploads;
  deliveries: Deliveries;
  databases: Databases;
  connectors: Connectors;
  files: Files;
  index: SearchIndex;
  launcher: Launcher;
  log: Logger;
  /** Milliseconds without a sign of life after which a workflow is looked for. */
  quietMs: number;
}

export type SweepActivities = ReturnType<typeof createSweepActivities>;

const BATCH = 1_000;
/** Most of what is quiet only waits its turn; asking Temporal about it again and again would slow that down. */
const LOOK_AGAIN_MS = 10 * 60 * 1000;
/** How long an expired upload that a job still needs is left alone. */
const KEEP_LONGER_MS = 60 * 60 * 1000;
/** An upload that takes longer than this is not under way any more. */
const ABANDONED_UPLOAD_MS = 6 * 60 * 60 * 1000;

/** Starts what is missing. Starting work that is under way does nothing, so the sweep need not know which is which. */
export function createSweepActivities({
  items,
  itemCatalogue,
  removedItems,
  aiJobs,
  crewExecutions,
  uploads,
  deliveries,
  databases,
  connectors,
  files,
  index,
  launcher,
  log,
  quietMs,
}: SweepDependencies) {
  return {
    restartLostWork: () => withHeartbeat(restartLostWork),
    dropAbandonedFiles: () => withHeartbeat(dropAbandonedFiles),
    compactSearchIndex: () => withHeartbeat(compactSearchIndex),
  };

  async function restartLostWork(): Promise<SweepFindings> {
    const before = new Date(Date.now() - quietMs);
    const next = new Date(Date.now() + LOOK_AGAIN_MS);
    const [lostItems, lostJobs, lostCrews, lostDeliveries, lostDatabases, lostRemovals, lostConnectors, lostRows] =
      await Promise.all([
        items.takeUnchecked(before, next, BATCH),
        aiJobs.takeUnchecked(before, next, BATCH),
        crewExecutions.takeUnchecked(before, next, BATCH),
        deliveries.takeUnchecked(before, next, BATCH),
        databases.stale(before),
        removedItems.takeUnchecked(before, next, BATCH),
        connectors.pendingBefore(before, BATCH),
        itemCatalogue.takeRowsDue(before, next, BATCH),
      ]);
    for (const item of lostItems) await attempt(item._id, launcher.startItem(item));
    for (const job of lostJobs) await attempt(job._id, launcher.startJob(job));
    for (const execution of lostCrews) await attempt(execution._id, launcher.startCrew(execution));
    for (const delivery of lostDeliveries) {
      // Of one that was put back the signal may be lost: its workflow lives, and waits for hours.
      const { startDelivery, retryDelivery } = launcher;
      await attempt(delivery._id, delivery.requeued ? retryDelivery(delivery) : startDelivery(delivery));
    }
    for (const { _id, org, name, status } of lostDatabases) {
      const { startDatabaseDeletion, startProvisioning } = launcher;
      await attempt(
        _id,
        (status === 'deleting' ? startDatabaseDeletion : startProvisioning)({ org, tenant: _id }, name),
      );
    }
    for (const ref of lostRemovals) await attempt(ref.removal, launcher.startRemoval(ref));
    for (const connector of lostConnectors) {
      await attempt(
        connector._id,
        settleConnector(launcher, connector).then(() => connectors.settled(connector)),
      );
    }
    for (const item of lostRows) await attempt(item._id, launcher.startIndexRows(item));
    const found = {
      items: lostItems.length,
      jobs: lostJobs.length,
      crews: lostCrews.length,
      deliveries: lostDeliveries.length,
      databases: lostDatabases.length,
      removals: lostRemovals.length,
      connectors: lostConnectors.length,
      index_rows: lostRows.length,
    };
    if (Object.values(found).some((count) => count > 0)) log.info(found, 'sweep looked after quiet work');
    return found;
  }

  /** One record that fails must not keep the others waiting. */
  async function attempt(id: string, work: Promise<void>): Promise<void> {
    await work.catch((error) => log.error({ err: error, id }, 'the sweep could not look after this'));
  }

  async function dropAbandonedFiles(): Promise<void> {
    for (const { _id } of await uploads.expired(BATCH)) await attempt(_id, dropUpload(_id));
    for (const file of await files.unclaimedBefore(new Date(Date.now() - ABANDONED_UPLOAD_MS), BATCH)) {
      await attempt(file.file_id, dropUnclaimed(file));
    }
  }

  /** A job that waits or runs keeps its file, however long that takes. */
  async function dropUpload(fileId: string): Promise<void> {
    if (await aiJobs.needFile(fileId)) return uploads.keepUntil(fileId, new Date(Date.now() + KEEP_LONGER_MS));
    await files.remove(fileId);
    await uploads.remove(fileId);
  }

  async function dropUnclaimed(file: { file_id: string; batch: string }): Promise<void> {
    if (await items.anyOfBatch(file.batch)) await files.claim(file.batch);
    else await files.remove(file.file_id);
  }

  async function compactSearchIndex(): Promise<void> {
    for (const database of await databases.all()) {
      if (database.status === 'ready') await index.compact(database._id);
    }
  }
}
