import { ApplicationFailure, Context } from '@temporalio/activity';
import type { ClientSession, MongoClient } from 'mongodb';
import type { Logger } from 'pino';
import { SourceError, type WebSettings } from '../../domain/connectors/connectors.js';
import {
  type StartedSync,
  SYNC_ENDED,
  type SyncOutcome,
  type SyncRef,
} from '../../domain/connectors/workflow-contract.js';
import { newBatchId } from '../../domain/ids.js';
import type { OpenSource } from '../../providers/connectors/index.js';
import type { ConnectorRecord, Connectors } from '../../storage/connectors/connectors.js';
import type { ConnectorResourceRecord, SeenResource } from '../../storage/connectors/resources.js';
import type { ConnectorSyncs, SyncStep } from '../../storage/connectors/syncs.js';
import type { Databases } from '../../storage/content/databases.js';
import type { RemovedItems } from '../../storage/content/removed-items.js';
import { inTransaction } from '../../storage/transactions.js';
import type { ContentStarters } from '../../temporal/content/starters.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import { asActivityFailure, type ClientError } from '../failures.js';
import { withHeartbeat } from '../heartbeat.js';
import { createResourceFetcher, type ResourceFetcherDependencies } from './fetch-resources.js';

export interface SyncDependencies extends ResourceFetcherDependencies {
  mongoClient: MongoClient;
  connectors: Pick<Connectors, 'findAnyForOrg' | 'openCredentials' | 'remove'>;
  connectorSyncs: ConnectorSyncs;
  databases: Databases;
  openSource: OpenSource;
  removedItems: RemovedItems;
  starters: Pick<ContentStarters, 'startIngest' | 'startRemoval'>;
  log: Logger;
  /** That one sync takes in. */
  maxResources: number;
}

export type SyncActivities = ReturnType<typeof createSyncActivities>;

/** Fetched in one activity, and queued in one transaction: what a killed worker has to do again at the most. */
const BATCH = 20;
const VANISHED_BATCH = 100;
/** Resources written in one transaction. */
const WRITTEN_AT_ONCE = 500;

/** The steps of a sync. How far it is stands in MongoDB, so each may be repeated and histories hold ids and counts. */
export function createSyncActivities(deps: SyncDependencies) {
  const { connectors, connectorSyncs, resources, databases, removedItems, starters, log } = deps;
  const takeIn = createResourceFetcher(deps);

  return {
    /** @returns the number of the new sync; null when the connector is gone */
    async beginSync({ org, connector }: SyncRef): Promise<number | null> {
      return (await connectorSyncs.start(org, connector))?.sync?.number ?? null;
    },

    /** Reads one page of the listing. @returns whether there are more */
    listResources: (ref: StartedSync): Promise<boolean> =>
      asStep(async (signal) => {
        const connector = await current(ref);
        const { cursor, listed } = connector.sync!;
        if (listed) return false;
        const database = await databases.requireForOrg(ref.org, connector.database).catch(() => null);
        if (database?._id !== connector.database_id) throw new SourceError('DATABASE_NOT_FOUND');
        const page = await open(connector).list(cursor, connector.listing, signal);
        const met = page.resources.map(({ key, etag }): SeenResource => ({ key, etag, depth: 0 }));
        const truncated = !(await meet(ref, connector, met));
        const done = page.next === null || truncated;
        await inStep(
          ref,
          { cursor: done ? null : page.next, listed: done, validators: page.validators ?? {} },
          async (session) => {
            if (page.unchanged) await resources.recordAllSeen(ref, session);
          },
        );
        return !done;
      }),

    /** Fetches some of what may have changed, and queues what has. @returns how many were looked at; 0 at the end */
    fetchResources: (ref: StartedSync): Promise<number> =>
      asStep(async (signal) => {
        const connector = await current(ref);
        const due = await resources.listDue(ref, BATCH);
        if (due.length === 0) return 0;
        const batch = newBatchId();
        const taken = await takeIn.fetch(connector, open(connector), due, batch, signal);
        await meet(
          ref,
          connector,
          taken.flatMap(({ resource, result }) => linksOf(connector, resource, result.links)),
        );
        const { records, replacedFiles } = await takeIn.asItems(connector, taken, batch);
        const results = taken.map(({ result }) => result);
        try {
          if (records.length === 0) await inStep(ref, {}, (session) => resources.recordResults(results, session));
          else
            await inStep(ref, {}, async (tx) => {
              await deps.items.queue(records, tx);
              await resources.recordResults(results, tx);
            });
        } catch (error) {
          await takeIn.discard(taken);
          throw error;
        }
        await takeIn.settle(batch, taken, replacedFiles);
        if (records.length > 0) {
          await startOrDefer(log, 'ingest', { batch }, () =>
            starters.startIngest({ org: ref.org, batch }, records.length, connector.database),
          );
        }
        return due.length;
      }),

    /** Removes some of what the source has no more. @returns how many were removed; 0 at the end */
    removeVanished: (ref: StartedSync): Promise<number> =>
      asStep(async () => {
        const { database_id: databaseId, kind, settings, sync } = await current(ref);
        // What lies beyond the limit, and what a feed has dropped, has not vanished.
        const complete =
          !sync!.truncated && !(kind === 'feed' && 'remove_dropped' in settings && !settings.remove_dropped);
        const vanished = await resources.listVanished(ref, complete, VANISHED_BATCH);
        const ids = vanished.flatMap(({ item_id }) => item_id ?? []);
        await removeItems(ref.org, databaseId, ids);
        await inStep(ref, { removed: ids.length }, (session) =>
          resources.remove(
            vanished.map(({ _id }) => _id),
            session,
          ),
        );
        return vanished.length;
      }),

    async endSync(ref: StartedSync, outcome: SyncOutcome): Promise<void> {
      const connector = await connectorSyncs.findRunning(ref);
      if (!connector) return;
      const counts = await resources.countOutcomes(ref.connector, ref.sync, connector.sync!.removed);
      // After a failure the next listing is read even if nothing in it has changed.
      const clean = outcome.status === 'completed' && counts.failed === 0;
      await connectorSyncs.end(ref, outcome, counts, clean ? connector.sync!.validators : {});
      log.info({ ...ref, ...counts, status: outcome.status, code: outcome.error_code }, 'connector synced');
    },

    /** Removes what a deleted connector has left, some at a time. @returns false when nothing is left of it */
    removeRemains: ({ org, connector: id }: SyncRef): Promise<boolean> =>
      withHeartbeat(async () => {
        const connector = await connectors.findAnyForOrg(org, id);
        if (!connector || connector.deleted_at === null) return false;
        const left = await resources.listAny(id, VANISHED_BATCH);
        const items = left.flatMap(({ item_id }) => item_id ?? []);
        if (connector.remove_items) await removeItems(org, connector.database_id, items);
        await resources.remove(left.map(({ _id }) => _id));
        if (left.length === 0) await connectors.remove(org, id);
        return left.length > 0;
      }),
  };

  /** Unknown ones are passed over. One under way ends without being announced. */
  async function removeItems(org: string, databaseId: string, ids: readonly string[]): Promise<void> {
    const { ref } = await removedItems.remove({ _id: databaseId, org }, { ids, inProgress: 'remove' });
    if (ref) await starters.startRemoval(ref);
  }

  function open(connector: ConnectorRecord) {
    const { kind, settings } = connector;
    return deps.openSource({ kind, settings, credentials: connectors.openCredentials(connector) });
  }

  async function current(ref: StartedSync): Promise<ConnectorRecord> {
    const connector = await connectorSyncs.findRunning(ref);
    if (!connector) throw ended();
    return connector;
  }

  /** @returns false when there are more than a sync takes in */
  async function meet(
    ref: StartedSync,
    { kind, settings }: ConnectorRecord,
    met: readonly SeenResource[],
  ): Promise<boolean> {
    const own = kind === 'web' ? (settings as WebSettings).max_pages : undefined;
    const limit = Math.min(own ?? deps.maxResources, deps.maxResources);
    for (let n = 0; n < met.length; n += WRITTEN_AT_ONCE) {
      const room = limit - (await resources.countSeen(ref));
      const some = met.slice(n, n + WRITTEN_AT_ONCE);
      const leftOut = await inStep(ref, {}, (session) => resources.recordSeen(ref, some, room, session));
      if (leftOut > 0) {
        await inStep(ref, { truncated: true }, async () => undefined);
        return false;
      }
    }
    return true;
  }

  function inStep<T>(ref: StartedSync, step: SyncStep, write: (tx: ClientSession) => Promise<T>): Promise<T> {
    return inTransaction(deps.mongoClient, async (tx) => {
      if (!(await connectorSyncs.recordStep(ref, tx, step))) throw ended();
      return write(tx);
    });
  }

  /** Failures of the source become those that the workflow understands: their type is the code the client reads. */
  async function asStep<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await withHeartbeat(work);
    } catch (error) {
      const { activityType, workflowExecution } = Context.current().info;
      log.warn(
        { err: error, activity: activityType, workflow: workflowExecution?.workflowId },
        'step of a sync failed',
      );
      throw asActivityFailure(error, { describe: describeSourceError });
    }
  }
}

function linksOf(
  { kind, settings }: ConnectorRecord,
  { depth, links: before }: ConnectorResourceRecord,
  links: readonly string[] | undefined = before,
): SeenResource[] {
  if (kind !== 'web' || !('follow_links' in settings) || !settings.follow_links || depth >= settings.max_depth)
    return [];
  return (links ?? []).map((key) => ({ key, depth: depth + 1 }));
}

function describeSourceError(error: unknown): ClientError | undefined {
  return error instanceof SourceError ? error : undefined;
}

function ended(): ApplicationFailure {
  return ApplicationFailure.nonRetryable('The connector is gone, or its sync is over.', SYNC_ENDED);
}
