import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import type { Checkpoints } from '../../domain/checkpoints.js';
import type { Chunk } from '../../domain/content/chunking.js';
import type { OwnedDatabase } from '../../domain/content/databases.js';
import { MAX_GRAPH_CHARACTERS } from '../../domain/content/graph.js';
import { tableOf } from '../../domain/content/index-generations.js';
import { removeRows, rowsOf } from '../../domain/content/index-rows.js';
import { type FinalIndexingStatus, INDEXING_STATUS_TABLE } from '../../domain/content/states.js';
import type { ItemOutcome, ItemRef } from '../../domain/content/workflow-contract.js';
import { ExtractionError } from '../../domain/extraction.js';
import type { FileStore } from '../../domain/file-store.js';
import { isFinalState } from '../../domain/state-machine.js';
import { type CheckpointStore, checkpointOwner } from '../../storage/checkpoints.js';
import { type Chunks, chunkRecords } from '../../storage/content/chunks.js';
import type { Databases } from '../../storage/content/databases.js';
import type { GraphStore } from '../../storage/content/graph.js';
import type { ItemRecord, Items } from '../../storage/content/items.js';
import type { VersionRange } from '../../storage/content/outdated-versions.js';
import { asActivityFailure } from '../failures.js';
import { withHeartbeat } from '../heartbeat.js';
import { createLanguageMarks } from './chunk-languages.js';
import { type ClearItemsDependencies, clearItems } from './clear-items.js';
import { type InterruptDependencies, interruptItems } from './databases.js';
import { embedMissing, pagedChunks } from './embed-chunks.js';
import { createFinishItem, type FinishItemDependencies } from './finish-items.js';
import { createIndexNextGeneration, createModelChoice } from './index-next-generation.js';
import { createIndexTogether, type GraphExtractor, type IndexTogetherDependencies } from './index-together.js';
import { describeItemError, isFinal, isSuperseded, itemFailureRules, superseded } from './item-failures.js';
import { createItemRuns, type RunsAlone } from './item-runs.js';
import { createReadItem, type ReadItemDependencies } from './read-item.js';

export interface ItemDependencies extends FinishItemDependencies, ReadItemDependencies {
  removedItems: InterruptDependencies['removedItems'];
  items: FinishItemDependencies['items'] &
    IndexTogetherDependencies['items'] &
    Pick<Items, 'beginRun' | 'countCrash' | 'endRun' | 'isCurrent' | 'setTransientError'>;
  databases: Pick<Databases, 'isOpen'>;
  databaseIndexes: IndexTogetherDependencies['databaseIndexes'];
  deliveries: FinishItemDependencies['deliveries'] & IndexTogetherDependencies['deliveries'];
  chunks: ClearItemsDependencies['chunks'] &
    IndexTogetherDependencies['chunks'] &
    Pick<Chunks, 'listEmbedded' | 'listTexts' | 'put' | 'setVectors'>;
  graph: ClearItemsDependencies['graph'] & Pick<GraphStore, 'put'>;
  itemGroups: IndexTogetherDependencies['itemGroups'];
  starters: FinishItemDependencies['starters'] & IndexTogetherDependencies['starters'];
  index: IndexTogetherDependencies['index'];
  itemCatalogue: IndexTogetherDependencies['itemCatalogue'];
  files: IndexTogetherDependencies['files'] & Pick<FileStore, 'remove'>;
  checkpoints: CheckpointStore;
  embedders: IndexTogetherDependencies['embedders'];
  graphExtractor: GraphExtractor;
  runsAlone: RunsAlone;
  log: Pick<Logger, 'warn'>;
}

export type ItemActivities = ReturnType<typeof createItemActivities>;

/** The steps of indexing one item version, in the order of its statuses. Each can be repeated. */
export function createItemActivities(deps: ItemDependencies) {
  const { items, chunks, checkpoints, databases, databaseIndexes, index, embedders } = deps;
  const finish = createFinishItem(deps);
  const runs = createItemRuns(items, deps.runsAlone);
  const readItem = createReadItem(deps);
  const indexTogether = createIndexTogether(deps);
  const indexNextGeneration = createIndexNextGeneration(deps);
  const modelFor = createModelChoice(deps);

  return {
    /** queued -> processing -> graph_creation -> completed, for a short text or a small file of text. */
    indexSmallItem: (ref: ItemRef): Promise<ItemOutcome> =>
      forItem(ref, async (signal) => {
        try {
          await runs.run(ref, { step: 'index', indexing_status: 'processing' }, signal, async (item, runSignal) => {
            if (!(await databases.isOpen(databaseOf(item)))) await discard(item);
            const failures = new Map<string, unknown>();
            await indexTogether([item], runSignal, failures);
            if (failures.size > 0) throw failures.get(item._id);
          });
          return { status: 'completed' };
        } catch (error) {
          const stored = isSuperseded(error) ? await storedOutcome(ref) : null;
          if (!stored) throw error;
          return stored;
        }
      }),

    /** queued -> processing: extracts the text of the item and splits it into chunks. */
    extractItem: (ref: ItemRef): Promise<void> =>
      forRun(ref, { step: 'extract', indexing_status: 'processing' }, async (item, signal) => {
        if (!(await databases.isOpen(databaseOf(item)))) await discard(item);
        const withLanguages = await createLanguageMarks();
        let stored = 0;
        const store = async (title: string | null, drafts: Chunk[]) => {
          if (stored === 0 && item.title === null && title) await items.setTitle(ref, title.slice(0, 500));
          await chunks.put(await withLanguages(chunkRecords(item, item.title ?? title, drafts)));
          stored += drafts.length;
          if (!(await items.isCurrent(ref))) throw superseded();
        };
        await readItem(item, store, signal, pageCheckpoints(ref));
        if (stored === 0) throw new ExtractionError('E2004');
        await checkpoints.drop(ref.org, checkpointOwner(ref));
      }),

    /** Embeds the chunks that have no vector yet, then writes all chunks to the search index. */
    embedAndIndexItem: (ref: ItemRef): Promise<void> =>
      forRun(ref, { step: 'embed', indexing_status: 'processing' }, async (item, signal) => {
        // Read after the chunks were stored: a rebuild that begins later finds them.
        const database = await databaseIndexes.getForEmbedding(databaseOf(item), embedders.current);
        if (!database) throw superseded();
        const { index: current, next_index: next } = database;
        const { generation } = current;
        const chunksOf = await pagedChunks(chunks, ref, generation);
        deps.graphExtractor.warmUp();
        const model = modelFor(database._id, current);
        if (model) {
          for await (const page of chunksOf()) {
            await embedMissing(model, chunks, page, { ...ref, generation }, signal);
          }
        }
        // Embedding takes long; a newer version may have replaced this version.
        if (!(await items.isCurrent(ref))) throw superseded();
        const chunkIds: string[] = [];
        for await (const page of chunksOf()) {
          signal.throwIfAborted();
          const ids = page.map((chunk) => chunk._id);
          // The rows of the served version stay until this version is complete.
          const repeatedIds = Context.current().info.attempt > 1 ? ids : [];
          await index.write(tableOf(database._id, current), rowsOf(item, page, database.metadata_schema), repeatedIds);
          chunkIds.push(...ids);
        }
        if (next) await indexNextGeneration(ref, next, signal);
        if (!(await items.isCurrent(ref))) {
          // Removed by id, because the chunks may be gone already.
          await removeRows(deps, databaseOf(item), chunkIds);
          throw superseded();
        }
      }),

    /** processing -> graph_creation: extracts entities and relations with their evidence. */
    linkItemGraph: (ref: ItemRef): Promise<void> =>
      forRun(ref, { step: 'link', indexing_status: 'graph_creation' }, async (item, signal) => {
        const texts = await chunks.listTexts(ref, MAX_GRAPH_CHARACTERS);
        const graph = await deps.graphExtractor.extract(texts, signal, item.org);
        await deps.graph.put([{ item, graph }], { replace: true });
        if (!(await items.isCurrent(ref))) throw superseded();
      }),

    /** -> completed | errored, with the delivery that notifies the client. */
    finishItem: (ref: ItemRef, outcome: ItemOutcome): Promise<ItemOutcome> =>
      forItem(ref, async () => {
        if (!(await finish(ref, outcome))) throw superseded();
        return outcome;
      }),
  };

  /** @returns the outcome that another run has stored, after it starts the delivery: that run may have died before */
  async function storedOutcome(ref: ItemRef): Promise<ItemOutcome | null> {
    const item = await items.getByRef(ref);
    if (!item || !isFinalState(INDEXING_STATUS_TABLE, item.indexing_status)) return null;
    const { error_code, error_message } = item;
    const status = item.indexing_status as FinalIndexingStatus;
    const outcome: ItemOutcome =
      error_code === null || error_message === null ? { status } : { status, error_code, error_message };
    await finish(ref, outcome);
    return outcome;
  }

  /** A step that may take long or kill its process: a run is counted as lost unless it ends. */
  function forRun(
    ref: ItemRef,
    run: Parameters<typeof runs.run>[1],
    step: (item: ItemRecord, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    return forItem(ref, (signal) => runs.run(ref, run, signal, step));
  }

  /** Runs a step with heartbeats, and maps its errors to failures that the workflow understands. */
  async function forItem<T>(ref: ItemRef, step: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await withHeartbeat(step);
    } catch (stepError) {
      const error = await clearAfter(ref, stepError).then(
        () => stepError,
        (clearError: unknown) => clearError,
      );
      deps.log.warn({ err: error, ...ref, activity: Context.current().info.activityType }, 'item activity failed');
      await showTransientError(ref, error);
      throw asActivityFailure(error, itemFailureRules);
    }
  }

  /** @throws an error of the storage, which is then retried instead of the error of the step */
  async function clearAfter(ref: ItemRef, error: unknown): Promise<void> {
    // Data that this version wrote after its replacement is invisible, but nothing else would delete it.
    if (isSuperseded(error)) await clearLeftovers(ref);
    if (error instanceof ExtractionError) await clearChunks(ref);
    if (isFinal(error)) await checkpoints.drop(ref.org, checkpointOwner(ref)).catch(() => undefined);
  }

  /** Shows an error that is being retried in the item's status. Best effort: without MongoDB no status can be read. */
  async function showTransientError(ref: ItemRef, error: unknown): Promise<void> {
    if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return;
    const { retryable, code, message } = describeItemError(error) ?? {};
    if (retryable) await items.setTransientError(ref, code!, message!).catch(() => undefined);
  }

  /** Ends an item that was queued while its database was being deleted. */
  async function discard(item: ItemRecord): Promise<never> {
    await interruptItems(deps, databaseOf(item), [item._id]);
    throw superseded();
  }

  /** Parts of an item that failed must not be found. An earlier version keeps its own. */
  async function clearChunks(ref: ItemRef): Promise<void> {
    const ids = await chunks.listIds(ref.database_id, onlyVersion(ref));
    if (ids.length === 0) return;
    await removeRows(deps, databaseOf(ref), ids);
    await chunks.remove(ref.database_id, ids);
  }

  async function clearLeftovers(ref: ItemRef): Promise<void> {
    // Another run has finished it, and its data belongs to it.
    if (await items.isCurrent(ref)) return;
    // An earlier version may be served.
    await clearItems(deps, databaseOf(ref), [onlyVersion(ref)]);
  }

  /** Scanned pages take long, so each page first checks whether the version is still current. */
  function pageCheckpoints(ref: ItemRef): Checkpoints {
    const stored = checkpoints.of(ref.org, checkpointOwner(ref));
    return {
      async load(step) {
        if (!(await items.isCurrent(ref))) throw superseded();
        return stored.load(step);
      },
      save: stored.save,
    };
  }
}

function databaseOf({ database_id, org }: Pick<ItemRecord, 'database_id' | 'org'>): OwnedDatabase {
  return { _id: database_id, org };
}

/** One version of an item. */
function onlyVersion({ item, version }: ItemRef): VersionRange {
  return { item, from: version, upTo: version };
}
