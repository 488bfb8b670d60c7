import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { describeModel, modelOf, otherModels } from '../domain/content/embedding-models.js';
import type { InstallationHealth } from '../domain/metrics.js';
import type { Readiness } from '../domain/readiness.js';
import { temporalReachable } from '../temporal/connection.js';
import type { SharedDependencies } from './dependencies.js';

type ReadinessDependencies = Pick<
  SharedDependencies,
  'databaseIndexes' | 'db' | 'embedders' | 'embeddings' | 'now' | 'processes' | 'searchReachable'
>;

/** How long a probe waits for MongoDB. By itself, the driver waits longer than a probe does. */
const PING_MS = 2_000;
/** Far longer than the time between two runs of the reconciler. */
const LATE_MS = 10 * 60_000;
const EMBED_AGAIN = 'Run "postback index rebuild --embed".';
const INDEX_AGAIN = 'Run "postback index rebuild".';

/**
 * @param withIndexes whether to look for indexes to rebuild; they are absent while MongoDB does not respond
 * @returns what this process can reach, within about two seconds
 */
export async function readReadiness(
  deps: ReadinessDependencies,
  client: Client,
  withIndexes: boolean,
): Promise<Readiness> {
  const { databaseIndexes, db, embedders, embeddings, processes, searchReachable } = deps;
  const [temporal, mongodb, opensearch, uses, outdated, health] = await Promise.all([
    temporalReachable(client),
    within(
      db.command({ ping: 1 }).then(() => true),
      false,
    ),
    searchReachable && within(searchReachable(), false),
    withIndexes ? within(databaseIndexes.listModels(), []) : [],
    withIndexes ? within(databaseIndexes.countOutdatedTexts(), 0) : 0,
    withIndexes ? within(processes.health(), null) : null,
  ]);
  const others = otherModels(uses, embedders).map((other) => ({ ...other, advice: EMBED_AGAIN }));
  return {
    temporal,
    mongodb,
    ...(opensearch === null ? {} : { opensearch }),
    embeddings:
      'model' in embeddings
        ? { available: true, ...modelOf(embeddings), ...(others.length > 0 ? { other_models: others } : {}) }
        : { available: false, reason: embeddings.unavailable, search: 'full text only' },
    ...(health === null ? {} : describeHealth(health, deps.now())),
    ...(outdated > 0 ? { outdated_texts: { databases: outdated, advice: INDEX_AGAIN } } : {}),
  };
}

function describeHealth({ queuesWithoutWorker, sweptAt }: InstallationHealth, now: Date): Partial<Readiness> {
  return {
    ...(queuesWithoutWorker.length > 0 ? { queues_without_worker: queuesWithoutWorker } : {}),
    reconciler: {
      completed_at: sweptAt?.toISOString() ?? null,
      late: sweptAt !== null && now.getTime() - sweptAt.getTime() > LATE_MS,
    },
  };
}

async function within<T>(reading: Promise<T>, otherwise: T): Promise<T> {
  return await Promise.race([reading.catch(() => otherwise), wait(PING_MS, otherwise)]);
}

/** Logs which databases have vectors of another model, or texts of another analysis, than this process, and what to do. */
export async function warnOfOutdatedIndexes(
  { databaseIndexes, embedders }: Pick<SharedDependencies, 'databaseIndexes' | 'embedders'>,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  try {
    for (const other of otherModels(await databaseIndexes.listModels(), embedders)) {
      const { databases, available } = other;
      const searchUntilThen = available
        ? 'they use it until then'
        : 'until then they are searched by text only, and new items get no vectors, unless POSTBACK_PREVIOUS_EMBEDDINGS_URL names that model';
      log.warn(
        { databases, vectors: describeModel(other), configured: describeModel(embedders.current) },
        `databases have vectors of another embedding model: run "postback index rebuild --embed"; ${searchUntilThen}`,
      );
    }
    const databases = await databaseIndexes.countOutdatedTexts();
    if (databases > 0) {
      log.warn(
        { databases },
        'the text of databases was indexed by another version: run "postback index rebuild"; until then they are searched by vectors only',
      );
    }
  } catch (error) {
    log.warn({ err: error }, 'the indexes of the databases could not be checked');
  }
}
