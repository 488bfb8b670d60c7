import type { Logger } from 'pino';
import type { SearchIndex } from '../domain/content/search.js';
import type { FileStore } from '../domain/file-store.js';
import type { ReconcileReport } from '../domain/workflow-contract.js';
import type { AiJobs } from '../storage/ai-jobs/jobs.js';
import type { Uploads } from '../storage/ai-jobs/uploads.js';
import type { Databases } from '../storage/content/databases.js';
import type { Items } from '../storage/content/items.js';
import { withHeartbeat } from './heartbeat.js';

/** One kind of work whose workflow can be missing: how stale records are found, and how each is started. */
export interface StaleWork<Name extends string = string, Entry = unknown> {
  name: Name;
  /**
   * Takes records that are due for a check, oldest first.
   * @param before records that have been checked or changed since then are left alone
   * @param next the taken records are not due again before this time
   */
  takeStale(before: Date, next: Date, limit: number): Promise<Entry[]>;
  idOf(entry: Entry): string;
  /** Starts the missing workflow; does nothing when it is running. */
  start(entry: Entry): Promise<void>;
}

/** Declares an entry of the table of stale work, with the type of its records checked. */
export function staleWork<Name extends string, Entry>(work: StaleWork<Name, Entry>): StaleWork<Name> {
  return work as unknown as StaleWork<Name>;
}

export interface ReconcileDependencies {
  staleWork: readonly StaleWork<keyof ReconcileReport>[];
  aiJobs: Pick<AiJobs, 'isFileNeeded'>;
  uploads: Pick<Uploads, 'keepUntil' | 'listExpired' | 'remove'>;
  items: Pick<Items, 'anyOfBatch'>;
  databases: Pick<Databases, 'listAll'>;
  files: Pick<FileStore, 'claim' | 'remove' | 'unclaimedBefore'>;
  index: Pick<SearchIndex, 'compact'>;
  log: Pick<Logger, 'error' | 'info'>;
  /** Milliseconds without a change after which a record's workflow is checked. */
  quietMs: number;
}

export type ReconcileActivities = ReturnType<typeof createReconcileActivities>;

/** Records of each kind checked in one run. */
const BATCH = 1_000;
/** Most quiet work only waits for its turn. Checking it more often would load Temporal and slow the work down. */
const CHECK_AGAIN_MS = 10 * 60 * 1000;
/** How long an expired upload stays when a job still needs it. */
const KEEP_LONGER_MS = 60 * 60 * 1000;
/** An upload that takes longer than this counts as abandoned. */
const ABANDONED_UPLOAD_MS = 6 * 60 * 60 * 1000;

/** Starts missing workflows. Starting a running workflow does nothing, so the reconciler starts all that are quiet. */
export function createReconcileActivities({
  staleWork,
  aiJobs,
  uploads,
  items,
  databases,
  files,
  index,
  log,
  quietMs,
}: ReconcileDependencies) {
  return {
    restartLostWork: () => withHeartbeat(startStaleWork),
    dropAbandonedFiles: () => withHeartbeat(dropAbandonedFiles),
    compactSearchIndex: () => withHeartbeat(compactSearchIndex),
  };

  async function startStaleWork(): Promise<ReconcileReport> {
    const before = new Date(Date.now() - quietMs);
    const next = new Date(Date.now() + CHECK_AGAIN_MS);
    const taken = await Promise.all(staleWork.map(({ takeStale }) => takeStale(before, next, BATCH)));
    for (const [index, { idOf, start }] of staleWork.entries()) {
      for (const entry of taken[index]!) await attempt(idOf(entry), () => start(entry));
    }
    const counts = staleWork.map(({ name }, index) => [name, taken[index]!.length] as const);
    const report = Object.fromEntries(counts) as unknown as ReconcileReport;
    if (counts.some(([, count]) => count > 0)) log.info(report, 'reconciler started quiet work');
    return report;
  }

  /** Logs an error, so that one record does not stop the others. */
  async function attempt(id: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      log.error({ err: error, id }, 'the reconciler failed on this record');
    }
  }

  async function dropAbandonedFiles(): Promise<void> {
    for (const { _id } of await uploads.listExpired(BATCH)) await attempt(_id, () => dropUpload(_id));
    for (const file of await files.unclaimedBefore(new Date(Date.now() - ABANDONED_UPLOAD_MS), BATCH)) {
      await attempt(file.file_id, () => dropUnclaimed(file));
    }
  }

  /** A file stays while a queued or running job needs it. */
  async function dropUpload(fileId: string): Promise<void> {
    if (await aiJobs.isFileNeeded(fileId)) return uploads.keepUntil(fileId, new Date(Date.now() + KEEP_LONGER_MS));
    await files.remove(fileId);
    await uploads.remove(fileId);
  }

  async function dropUnclaimed(file: { file_id: string; batch: string }): Promise<void> {
    if (await items.anyOfBatch(file.batch)) await files.claim(file.batch);
    else await files.remove(file.file_id);
  }

  async function compactSearchIndex(): Promise<void> {
    for (const database of await databases.listAll()) {
      if (database.status === 'ready') await index.compact(database._id);
    }
  }
}
