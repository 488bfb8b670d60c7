import type { Logger } from 'pino';
import { tableOf } from '../domain/content/index-generations.js';
import type { SearchIndex } from '../domain/content/search.js';
import type { FileStore, UnclaimedFile } from '../domain/file-store.js';
import type { JobReport, StaleKind } from '../domain/workflow-contract.js';
import type { ExpiredUploads } from '../storage/ai-jobs/expired-uploads.js';
import type { UploadRecord, Uploads } from '../storage/ai-jobs/uploads.js';
import type { DatabaseIndexes } from '../storage/content/database-indexes.js';
import type { Items } from '../storage/content/items.js';
import type { Processes } from '../storage/processes.js';
import type { StaleRecords } from '../storage/queries.js';
import { withHeartbeat } from './heartbeat.js';

/** One kind of work whose workflow can be missing: its stale records, and how each is started. */
export interface StaleWork<Entry = unknown> {
  records: StaleRecords<Entry>;
  idOf(entry: NoInfer<Entry>): string;
  /** Starts the missing workflow; does nothing when it is running. */
  start(entry: NoInfer<Entry>): Promise<void>;
}

/** Declares an entry of the table of stale work, with the type of its records checked. */
export function staleWork<Entry>(work: StaleWork<Entry>): StaleWork {
  return work as unknown as StaleWork;
}

export interface ReconcileDependencies {
  staleWork: Readonly<Record<StaleKind, StaleWork>>;
  uploads: Pick<Uploads, 'getById' | 'isNeeded' | 'keepUntil' | 'remove'>;
  expiredUploads: ExpiredUploads;
  items: Pick<Items, 'ownsFile'>;
  databaseIndexes: Pick<DatabaseIndexes, 'listAll'>;
  files: Pick<FileStore, 'claim' | 'remove' | 'unclaimedBefore'>;
  index: Pick<SearchIndex, 'compact'>;
  processes: Pick<Processes, 'swept'>;
  log: Pick<Logger, 'error' | 'info'>;
  now: () => Date;
  /** Milliseconds without a change after which a record's workflow is checked. */
  quietMs: number;
}

export type ReconcileActivities = ReturnType<typeof createReconcileActivities>;

/** Records of each kind checked in one run. */
const MAX_RECORDS = 1_000;
/** Starts of one kind in progress at the same time. */
const CONCURRENT_STARTS = 20;
/** Most quiet work only waits for its turn. Checking it more often would load Temporal and slow the work down. */
const CHECK_AGAIN_MS = 10 * 60 * 1000;
/** How long an expired upload stays when a job still needs it. */
const KEEP_LONGER_MS = 60 * 60 * 1000;
/** An upload that takes longer than this counts as abandoned. */
const ABANDONED_UPLOAD_MS = 6 * 60 * 60 * 1000;

/** The jobs of the reconciler. Each continues after a record on which it fails, and reports what it did. */
export function createReconcileActivities(deps: ReconcileDependencies) {
  const { uploads, files, log, now: clock } = deps;
  return {
    /** Starts missing workflows. Starting a running workflow does nothing, so it starts all that are quiet. */
    restartLostWork: (kind: StaleKind, quiet = deps.quietMs) =>
      withHeartbeat((signal) => startStaleWork(kind, quiet, signal)),
    /** Removes expired uploads, and files of requests that did not store their work. */
    dropAbandonedFiles: () => withHeartbeat(dropAbandonedFiles),
    compactSearchIndex: () => withHeartbeat(compactSearchIndex),
  };

  function ago(ms: number): Date {
    return new Date(clock().getTime() - ms);
  }

  async function startStaleWork(kind: StaleKind, quiet: number, signal: AbortSignal): Promise<JobReport> {
    const { records, idOf, start } = deps.staleWork[kind];
    const report = emptyReport();
    const before = ago(quiet);
    while (report.done + report.failed < MAX_RECORDS && !signal.aborted) {
      const page = await records.list(before, CONCURRENT_STARTS);
      if (page.length === 0) break;
      const started = await Promise.all(page.map((entry) => attempt(report, idOf(entry), () => start(entry))));
      const now = clock();
      // After the starts, so that a crash hides no record.
      const next = new Date(now.getTime() + CHECK_AGAIN_MS);
      await records.markStarted(
        page.filter((_, n) => started[n]),
        before,
        next,
      );
      await records.markFailed(
        page.filter((_, n) => !started[n]),
        before,
        now,
      );
    }
    if (!signal.aborted) await deps.processes.swept(kind);
    if (report.done + report.failed > 0) log.info({ kind, ...report }, 'reconciler started quiet work');
    return report;
  }

  async function dropAbandonedFiles(signal: AbortSignal): Promise<JobReport> {
    const report = emptyReport();
    for (const upload of await deps.expiredUploads.list(MAX_RECORDS)) {
      if (signal.aborted) return report;
      await attempt(report, upload._id, () => dropUpload(upload));
    }
    const unclaimed = await files.unclaimedBefore(ago(ABANDONED_UPLOAD_MS), MAX_RECORDS);
    for (const [request, all] of Map.groupBy(unclaimed, ({ org, batch }) => `${org}/${batch}`)) {
      if (signal.aborted) return report;
      await attempt(report, request, () => settleFiles(all));
    }
    return report;
  }

  /** A file stays while a queued or running job needs it. */
  async function dropUpload(upload: UploadRecord): Promise<void> {
    if (await uploads.isNeeded(upload)) return uploads.keepUntil(upload, ago(-KEEP_LONGER_MS));
    await files.remove(upload._id);
    await uploads.remove(upload);
  }

  /** Removes first, because a claim is for all files of the request, and nobody looks for claimed files again. */
  async function settleFiles(filesOfRequest: readonly UnclaimedFile[]): Promise<void> {
    let owner: UnclaimedFile | undefined;
    for (const file of filesOfRequest) {
      if (await isOwned(file)) owner = file;
      else await files.remove(file.file_id);
    }
    if (owner) await files.claim(owner);
  }

  async function isOwned(file: UnclaimedFile): Promise<boolean> {
    return (await deps.items.ownsFile(file)) || (await uploads.getById(file.org, file.file_id)) !== null;
  }

  async function compactSearchIndex(signal: AbortSignal): Promise<JobReport> {
    const report = emptyReport();
    for (const database of await deps.databaseIndexes.listAll()) {
      if (signal.aborted) return report;
      const { _id, status } = database;
      if (status === 'ready') await attempt(report, _id, () => deps.index.compact(tableOf(_id, database.index)));
    }
    return report;
  }

  /** Counts and logs an error, so that one record does not stop the others. @returns whether the work succeeded */
  async function attempt(report: JobReport, id: string, work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      report.done += 1;
      return true;
    } catch (error) {
      report.failed += 1;
      log.error({ err: error, id }, 'the reconciler failed on this record');
      return false;
    }
  }
}

function emptyReport(): JobReport {
  return { done: 0, failed: 0 };
}
