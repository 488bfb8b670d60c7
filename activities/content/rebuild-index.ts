import { ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import type { Logger } from 'pino';
import { describeModel, type Embedders, isSameModel, modelOf } from '../../domain/content/embedding-models.js';
import { type NextIndex, TEXT_ANALYSIS, tableOf } from '../../domain/content/index-generations.js';
import { type Embedder, type SearchIndex, SearchIndexError } from '../../domain/content/search.js';
import type { RebuildProgress, RebuildRef, RebuiltDatabase } from '../../domain/content/workflow-contract.js';
import { EmbeddingError } from '../../domain/errors.js';
import { FOR_CLIENT } from '../../domain/workflow-contract.js';
import type { Chunks, EmbeddedChunk } from '../../storage/content/chunks.js';
import type { DatabaseIndexes } from '../../storage/content/database-indexes.js';
import type { DatabaseRecord } from '../../storage/content/databases.js';
import type { IndexRebuildRecord, IndexRebuilds } from '../../storage/content/index-rebuilds.js';
import { hasRows, type WriteAloneStores, writeRowsAlone } from '../../storage/content/index-rows.js';
import type { Items } from '../../storage/content/items.js';
import { asActivityFailure, type FailureRules } from '../failures.js';
import { withHeartbeat } from '../heartbeat.js';
import { type EmbeddingTarget, embedStored } from './embed-chunks.js';
import { planOf } from './rebuild-plan.js';

export interface RebuildDependencies extends WriteAloneStores {
  indexRebuilds: IndexRebuilds;
  databaseIndexes: DatabaseIndexes;
  chunks: Pick<Chunks, 'dropVectors' | 'listById' | 'listOfDatabase' | 'measure' | 'setVectors'>;
  items: Pick<Items, 'listByKeys'>;
  index: Pick<SearchIndex, 'compact' | 'create' | 'drop' | 'write'>;
  embedders: Pick<Embedders, 'current' | 'find'>;
  now: () => Date;
  log: Pick<Logger, 'info' | 'warn'>;
}

export type RebuildActivities = ReturnType<typeof createRebuildActivities>;

/** Chunks handled together; a killed worker repeats at most this many, without embedding them again. */
const PAGE = 256;
/** Then the workflow continues, so that it shows the progress. */
const MAX_RUN_MS = 20_000;
/** Scans of one database. Chunks that are still found then are added by workers without the model, and searched by text only. */
const MAX_SCANS = 10;

/** A text that any model accepts. */
const ACCEPTABLE = 'A short sentence.';

/** The part of an error that is shown: sentences of the embedder and of the search index, without keys and texts. */
const failureRules: FailureRules = {
  describe(error) {
    if (error instanceof EmbeddingError) return { code: 'E3001', message: error.message, retryable: true };
    if (error instanceof SearchIndexError)
      return { code: 'SERVICE_UNAVAILABLE', message: error.message, retryable: true };
    return undefined;
  },
};

/** Write the search indexes again, with vectors of the configured model or in another engine. Each activity can be repeated. */
export function createRebuildActivities(deps: RebuildDependencies) {
  const { indexRebuilds, databaseIndexes, chunks, items, index, embedders, now, log } = deps;

  return {
    /** Decides the model, and which chunks are embedded with it. */
    planRebuild: ({ rebuild: id }: RebuildRef): Promise<void> =>
      forRebuild(id, async (signal) => {
        const rebuild = await indexRebuilds.getById(id);
        if (!rebuild || rebuild.plan || rebuild.status === 'cancelled') return;
        if (!embedders.current && !rebuild.engine) {
          const message = 'The worker has no embedding model: set POSTBACK_EMBEDDINGS_URL, or a local model.';
          await indexRebuilds.end(id, 'failed', message);
          throw ApplicationFailure.nonRetryable(message, 'E3001', FOR_CLIENT);
        }
        const { plan, ids } = await planOf(deps, rebuild, embedders.current && modelOf(embedders.current), signal);
        await indexRebuilds.setPlan(rebuild, plan, ids);
      }),

    /** Embeds chunks of the next database for a while, and writes them to its new index. */
    embedChunks: ({ rebuild: id }: RebuildRef): Promise<RebuildProgress> =>
      forRebuild(id, (signal) => embedChunks(id, signal)),

    /** Queries of the database read the new index from then on. */
    switchIndex: ({ rebuild: id }: RebuildRef, { database_id, generation }: RebuiltDatabase): Promise<void> =>
      forRebuild(id, async () => {
        const database = await databaseIndexes.getOfAny(database_id);
        if (database?.next_index?.generation === generation) {
          // Before the switch, so that the first queries find the indexes of words and vectors.
          const { embeddings, engine } = database.next_index;
          await index.compact(tableOf(database_id, { generation, engine }));
          await databaseIndexes.switchTo(database, generation);
          log.info({ database: database_id, engine, model: describeModel(embeddings) }, 'index switched');
        }
        await indexRebuilds.finishDatabase(id, database_id);
      }),

    /** Stores that an operator has cancelled the rebuild. */
    cancelRebuild: ({ rebuild: id }: RebuildRef): Promise<void> =>
      forRebuild(id, async () => {
        await indexRebuilds.end(id, 'cancelled');
        await databaseIndexes.abandon(id);
      }),

    /** Removes the tables and vectors of indexes that have not been used for so long. */
    removeOldIndexes: (graceMs: number): Promise<void> =>
      withHeartbeat(async () => {
        for (const { database, ...place } of await databaseIndexes.listRetired(new Date(now().getTime() - graceMs))) {
          await index.drop(tableOf(database._id, place));
          await chunks.dropVectors(database._id, place.generation);
          await databaseIndexes.markRemoved(database, place.generation);
        }
      }),
  };

  async function embedChunks(id: string, signal: AbortSignal): Promise<RebuildProgress> {
    const endsAt = performance.now() + MAX_RUN_MS;
    for (;;) {
      signal.throwIfAborted();
      const rebuild = await indexRebuilds.getById(id);
      if (rebuild?.status !== 'running') return progressOf(rebuild, { ended: true });
      const [databaseId] = rebuild.remaining;
      if (databaseId === undefined) {
        await indexRebuilds.end(id, 'completed');
        return progressOf(rebuild, { ended: true });
      }
      if (performance.now() > endsAt) return progressOf(rebuild, { ended: false });
      const database = await withNextIndex(rebuild, databaseId);
      if (!database) {
        await indexRebuilds.finishDatabase(id, databaseId);
        continue;
      }
      if (await embedPage(rebuild, database, signal)) continue;
      const { generation } = database.next_index;
      if ((rebuild.scan > 0 && rebuild.found === 0) || rebuild.scan >= MAX_SCANS) {
        return progressOf(rebuild, { ended: false, embedded: { database_id: databaseId, generation } });
      }
      await indexRebuilds.scanAgain(rebuild);
    }
  }

  /** @returns the database with the index to write; null when the database was deleted */
  async function withNextIndex({ _id: rebuild, plan, engine: target }: IndexRebuildRecord, databaseId: string) {
    let created: string | undefined;
    for (;;) {
      const database = await databaseIndexes.getOfAny(databaseId);
      if (!database || database.status === 'deleting') {
        // The deletion may have dropped the tables before this one was created.
        if (created !== undefined) await index.drop(created);
        return null;
      }
      const { next_index: next } = database;
      if (next?.rebuild === rebuild) return { ...database, next_index: next };
      if (next) await databaseIndexes.abandon(next.rebuild);
      const generation = await databaseIndexes.reserveGeneration(database);
      if (generation === null) continue;
      const engine = target ?? database.index.engine ?? 'lancedb';
      created = tableOf(databaseId, { generation, engine });
      await index.create(created);
      await databaseIndexes.begin(database, {
        generation,
        engine,
        embeddings: (target && database.index.embeddings) ?? plan!.model,
        analysis: TEXT_ANALYSIS,
        rebuild,
      });
    }
  }

  /** @returns false at the end of the scan */
  async function embedPage(
    rebuild: IndexRebuildRecord,
    database: DatabaseRecord & { next_index: NextIndex },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { _id: databaseId, org, index: current, next_index: next } = database;
    const model = modelFor(rebuild, next);
    const { position: after, scan } = rebuild;
    const page = await chunks.listOfDatabase(databaseId, next.generation, { after, limit: PAGE, missing: scan > 0 });
    if (page.length === 0) return false;
    const wanted = await currentOf(org, page);
    const isCopied = !rebuild.all && isSameModel(current.embeddings, next.embeddings);
    const copied = isCopied ? await copyVectors(databaseId, wanted, current.generation, next.generation) : 0;
    const embedded = model
      ? await embedAccepted(model, wanted, { generation: next.generation, org, database_id: databaseId }, signal)
      : 0;
    await writeRowsAlone(deps, database, next, wanted, signal);
    const counts = { handled: page.length, embedded, found: copied + embedded };
    await indexRebuilds.advance(rebuild, { next: page.at(-1)!._id, ...counts });
    return true;
  }

  /**
   * Embeds the chunks without a vector. Chunks whose text the model rejects stay without.
   * @returns the number of embedded chunks. @throws EmbeddingError when the model rejects every text, such as with a wrong key
   */
  async function embedAccepted(
    model: Embedder,
    all: readonly EmbeddedChunk[],
    target: EmbeddingTarget,
    signal: AbortSignal,
  ): Promise<number> {
    const missing = all.filter(({ vector }) => vector === null);
    try {
      await embedStored(model, chunks, missing, target, signal);
    } catch (error) {
      if (!isRejection(error)) throw error;
      await model.embedDocuments([ACCEPTABLE], signal, target.org);
      for (const chunk of missing) {
        await embedStored(model, chunks, [chunk], target, signal).catch((rejection) => {
          if (!isRejection(rejection)) throw rejection;
          log.warn({ chunk: chunk._id, reason: rejection.message }, 'the model rejects a chunk, which gets no vector');
        });
      }
    }
    return missing.filter(({ vector }) => vector !== null).length;
  }

  /** @returns null when a move goes on without the model: a chunk without a vector keeps none */
  function modelFor({ engine }: IndexRebuildRecord, next: NextIndex): Embedder | null {
    const model = embedders.find(next.embeddings);
    if (model || engine) return model;
    const configured = embedders.current ? describeModel(embedders.current) : 'no embedding model';
    throw new EmbeddingError(
      `The rebuild needs ${describeModel(next.embeddings)}, and this worker has ${configured}: start workers with that model, or cancel the rebuild.`,
      true,
    );
  }

  /** @returns the chunks of served versions and of versions in progress */
  async function currentOf(org: string, page: readonly EmbeddedChunk[]): Promise<EmbeddedChunk[]> {
    const found = await items.listByKeys(org, [...new Set(page.map(({ item }) => item))]);
    const owners = new Map(found.map((item) => [item._id, item]));
    return page.filter(({ item, version }) => owners.has(item) && hasRows(owners.get(item)!, version));
  }

  /** Uses the vectors of the old index, which have the same model. @returns how many there were */
  async function copyVectors(
    databaseId: string,
    all: readonly EmbeddedChunk[],
    from: number,
    to: number,
  ): Promise<number> {
    const missing = all.filter(({ vector }) => vector === null);
    const ids = missing.map(({ _id }) => _id);
    const old = await chunks.listById(databaseId, ids, from);
    const vectors = new Map(old.flatMap(({ _id, vector }) => (vector ? [[_id, vector] as const] : [])));
    await chunks.setVectors(databaseId, vectors, to);
    for (const chunk of missing) chunk.vector = vectors.get(chunk._id) ?? null;
    return vectors.size;
  }

  /** Runs a step with heartbeats, and shows an error that is retried. */
  async function forRebuild<T>(id: string, step: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await withHeartbeat(step);
    } catch (error) {
      const failure = asActivityFailure(error, failureRules);
      if (!(failure instanceof CancelledFailure)) {
        await indexRebuilds.setError(id, failure.message).catch(() => undefined);
      }
      throw failure;
    }
  }
}

function isRejection(error: unknown): error is EmbeddingError {
  return error instanceof EmbeddingError && !error.retryable;
}

function progressOf(
  rebuild: IndexRebuildRecord | null,
  state: Pick<RebuildProgress, 'ended' | 'embedded'>,
): RebuildProgress {
  const { handled = 0, plan = null, remaining = [] } = rebuild ?? {};
  return { handled, chunks: plan?.chunks ?? 0, remaining: remaining.length, ...state };
}
