import { ApplicationFailure } from '@temporalio/activity';
import type { ClientSession, MongoClient } from 'mongodb';
import type { Logger } from 'pino';
import { SourceError, type WebSettings } from '../../domain/connectors/connectors.js';
import {
  type StartedSync,
  SYNC_ENDED,
  type SyncOutcome,
  type SyncRef,
} from '../../domain/connectors/workflow-contract.js';
import { ServiceError } from '../../domain/errors.js';
import { newBatchId } from '../../domain/ids.js';
import type { WorkMetrics } from '../../domain/metrics.js';
import type { OpenSource, Source } from '../../providers/connectors/index.js';
import type { ConnectorRecord, Connectors } from '../../storage/connectors/connectors.js';
import type { ConnectorResourceRecord, ConnectorResources, SeenResource } from '../../storage/connectors/resources.js';
import type { ConnectorSyncs, SyncStep } from '../../storage/connectors/syncs.js';
import type { Databases } from '../../storage/content/databases.js';
import type { ItemQueue } from '../../storage/content/item-queue.js';
import type { Quotas } from '../../storage/quotas.js';
import { inTransaction } from '../../storage/transactions.js';
import type { ContentStarters } from '../../temporal/content/starters.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import { asActivityFailure, type ClientError } from '../failures.js';
import { withHeartbeat } from '../heartbeat.js';
import { createResourceFetcher, followsLinks, type ResourceFetcherDependencies } from './fetch-resources.js';
import { type ItemRemovalDependencies, removeItemsOf } from './remove-connector.js';

export interface SyncDependencies extends ResourceFetcherDependencies, ItemRemovalDependencies {
  mongoClient: MongoClient;
  connectors: Pick<Connectors, 'openCredentials'>;
  connectorSyncs: ConnectorSyncs;
  resources: Omit<ConnectorResources, 'listAny' | 'listFailing'>;
  databases: Pick<Databases, 'requireForOrg'>;
  itemQueue: ResourceFetcherDependencies['itemQueue'] & Pick<ItemQueue, 'add'>;
  quotas: Pick<Quotas, 'admit'>;
  openSource: OpenSource;
  starters: ItemRemovalDependencies['starters'] & Pick<ContentStarters, 'startIngest'>;
  metrics: Pick<WorkMetrics, 'syncFinished'>;
  log: Pick<Logger, 'info' | 'warn'>;
  /** Resources that one sync reads. */
  maxResources: number;
}

export type SyncActivities = ReturnType<typeof createSyncActivities>;

/** Resources fetched in one activity and queued in one transaction; a killed worker repeats at most this many. */
const FETCH_BATCH = 20;
/** Vanished resources removed at a time. */
const REMOVE_BATCH = 100;
/** Listed resources written in one transaction. */
const WRITE_BATCH = 500;
/** Steps of one listing. Thousands of sitemaps, or a million objects, take fewer; a server can send pages without end. */
const MAX_LISTING_STEPS = 20_000;

/** The steps of a sync. Progress is stored in MongoDB, so each step can be repeated, and histories hold ids and counts. */
export function createSyncActivities(deps: SyncDependencies) {
  const { connectors, connectorSyncs, resources, databases, itemQueue, quotas, starters, log } = deps;
  const fetcher = createResourceFetcher(deps);

  return {
    /** @returns the number of the new sync; null when the connector is deleted */
    async beginSync({ org, connector }: SyncRef): Promise<number | null> {
      return (await connectorSyncs.start(org, connector))?.sync?.number ?? null;
    },

    /** Reads one page of the listing. @returns whether another page follows */
    listResources: (ref: StartedSync): Promise<boolean> =>
      syncStep(async (signal) => {
        const connector = await requireRunning(ref);
        const { cursor, listed, steps } = connector.sync!;
        if (listed) return false;
        // Pages that list nothing new never reach the limit of resources.
        if (steps >= MAX_LISTING_STEPS) throw new SourceError('TOO_LARGE', 'The listing has too many pages.');
        const database = await databases.requireForOrg(ref.org, connector.database).catch(() => null);
        if (database?._id !== connector.database_id) throw new SourceError('DATABASE_NOT_FOUND');
        const page = await deps.scratch.use((folder) =>
          open(connector, folder).list(cursor, connector.listing, signal),
        );
        const seen = page.resources.map(({ key, etag }): SeenResource => ({ key, etag, depth: 0 }));
        const truncated = !(await recordSeen(ref, connector, seen));
        const done = page.next === null || truncated;
        const progress = { cursor: done ? null : page.next, listed: done, validators: page.validators ?? {} };
        await recordStep(ref, progress, async (tx) => {
          if (page.unchanged) await resources.recordAllSeen(ref, tx);
        });
        return !done;
      }),

    /** Fetches some due resources and queues new and changed ones. @returns the number fetched; 0 when none is due */
    fetchResources: (ref: StartedSync): Promise<number> =>
      syncStep(async (signal) => {
        const connector = await requireRunning(ref);
        const due = await resources.listDue(ref, FETCH_BATCH);
        if (due.length === 0) return 0;
        const batch = newBatchId();
        const fetched = await fetcher.fetchAll(connector, (folder) => open(connector, folder), due, batch, signal);
        const links = fetched.flatMap(({ resource, result }) => linksOf(connector, resource, result.links));
        await recordSeen(ref, connector, links);
        const { queued, added, replacedFiles } = await fetcher.toItems(connector, fetched, batch);
        const results = fetched.map(({ result }) => result);
        let stored = queued;
        try {
          await recordStep(ref, {}, async (tx) => {
            await quotas.admit(
              ref.org,
              added,
              async () => {
                stored = await itemQueue.add(queued, tx);
              },
              tx,
            );
            await resources.recordResults(ref, results, tx);
          });
        } catch (error) {
          await fetcher.discardFiles(fetched);
          throw error;
        }
        await fetcher.keepFiles({ org: ref.org, batch }, fetched, replacedFiles);
        if (queued.length > 0) {
          await startOrDefer(log, 'ingest', { batch }, () =>
            starters.startIngest({ org: ref.org, batch }, stored, connector.database),
          );
        }
        return due.length;
      }),

    /** Deletes items of some vanished resources. @returns the number of resources; 0 when none remains */
    removeVanished: (ref: StartedSync): Promise<number> =>
      syncStep(async () => {
        const connector = await requireRunning(ref);
        const vanished = await resources.listVanished(ref, unseenMeansRemoved(connector), REMOVE_BATCH);
        const removed = await removeItemsOf(deps, connector, vanished);
        const ids = vanished.map(({ _id }) => _id);
        await recordStep(ref, { removed }, (tx) => resources.remove(ref.org, ids, tx));
        return vanished.length;
      }),

    /** running -> completed | failed. */
    async endSync(ref: StartedSync, outcome: SyncOutcome): Promise<void> {
      const connector = await connectorSyncs.findRunning(ref);
      if (!connector) return;
      const counts = await resources.countOutcomes(ref, connector.sync!.removed);
      // After a failure, the next sync must read the listing even when it has not changed.
      const clean = outcome.status === 'completed' && counts.failed === 0;
      await connectorSyncs.end(ref, outcome, counts, clean ? connector.sync!.validators : {});
      deps.metrics.syncFinished(outcome.status);
      log.info({ ...ref, ...counts, status: outcome.status, code: outcome.error_code }, 'connector synced');
    },
  };

  function open(connector: ConnectorRecord, folder: string): Source {
    const { kind, settings } = connector;
    return deps.openSource({ kind, settings, credentials: connectors.openCredentials(connector) }, folder);
  }

  /** @throws SyncEnded */
  async function requireRunning(ref: StartedSync): Promise<ConnectorRecord> {
    const connector = await connectorSyncs.findRunning(ref);
    if (!connector) throw syncEnded();
    return connector;
  }

  /** Records listed or linked resources. @returns false when there are more than a sync may read */
  async function recordSeen(
    ref: StartedSync,
    { kind, settings }: ConnectorRecord,
    seen: readonly SeenResource[],
  ): Promise<boolean> {
    const maxPages = kind === 'web' ? (settings as WebSettings).max_pages : undefined;
    const limit = Math.min(maxPages ?? deps.maxResources, deps.maxResources);
    for (let n = 0; n < seen.length; n += WRITE_BATCH) {
      const room = limit - (await resources.countSeen(ref));
      const batch = seen.slice(n, n + WRITE_BATCH);
      const leftOut = await recordStep(ref, {}, (tx) => resources.recordSeen(ref, batch, room, tx));
      if (leftOut > 0) {
        await recordStep(ref, { truncated: true }, async () => undefined);
        return false;
      }
    }
    return true;
  }

  /** Stores the progress of the sync and the result of a step in one transaction. @throws SyncEnded */
  function recordStep<T>(ref: StartedSync, progress: SyncStep, write: (tx: ClientSession) => Promise<T>): Promise<T> {
    return inTransaction(deps.mongoClient, async (tx) => {
      if (!(await connectorSyncs.recordStep(ref, tx, progress))) throw syncEnded();
      return write(tx);
    });
  }
}

/** The pages that a page links to, unless they are too far from the start. */
function linksOf(
  connector: ConnectorRecord,
  { depth, links: knownLinks }: ConnectorResourceRecord,
  links: readonly string[] | undefined = knownLinks,
): SeenResource[] {
  if (!followsLinks(connector) || depth >= (connector.settings as WebSettings).max_depth) return [];
  return (links ?? []).map((key) => ({ key, depth: depth + 1 }));
}

/**
 * Whether a resource that the sync has not seen counts as removed. It does not after a truncated sync, which has not seen
 * all resources, nor for a feed that keeps the entries that it no longer lists.
 */
function unseenMeansRemoved({ kind, settings, sync }: ConnectorRecord): boolean {
  const keepsDropped = kind === 'feed' && 'remove_dropped' in settings && !settings.remove_dropped;
  return !sync!.truncated && !keepsDropped;
}

/** Runs a step of a sync with heartbeats; its failures carry the code that the client reads. */
async function syncStep<T>(step: (signal: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await withHeartbeat(step);
  } catch (error) {
    throw asActivityFailure(error, { describe: describeSourceError });
  }
}

/** Ends the work of a sync whose connector was deleted, or that has ended. */
function syncEnded(): ApplicationFailure {
  return ApplicationFailure.nonRetryable('The connector was deleted, or this sync has ended.', SYNC_ENDED);
}

function describeSourceError(error: unknown): ClientError | undefined {
  if (error instanceof ServiceError && error.details?.quota !== undefined) return new SourceError('QUOTA_EXCEEDED');
  return error instanceof SourceError ? error : undefined;
}
