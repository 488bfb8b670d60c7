import { Context } from '@temporalio/activity';
import type { Chunk } from '../../domain/content/chunking.js';
import { MAX_GRAPH_CHARACTERS } from '../../domain/content/graph.js';
import { tableOf } from '../../domain/content/index-generations.js';
import type { ItemOutcome, ItemRef } from '../../domain/content/workflow-contract.js';
import { ExtractionError } from '../../domain/extraction.js';
import { type CheckpointStore, checkpointOwner } from '../../storage/checkpoints.js';
import { type Chunks, chunkRecords } from '../../storage/content/chunks.js';
import { removeRows, rowsOf } from '../../storage/content/index-rows.js';
import type { ItemRecord } from '../../storage/content/items.js';
import { createLanguageMarks } from './chunk-languages.js';
import { clearVersion } from './clear-items.js';
import { databaseOf, interruptItems } from './databases.js';
import { embedStored } from './embed-chunks.js';
import { createEndItems } from './end-items.js';
import type { IndexItemsDependencies } from './index-items.js';
import { createModelChoice, indexNextGeneration } from './index-next-generation.js';
import { isSuperseded, itemStep, superseded } from './item-failures.js';
import { createItemRuns } from './item-runs.js';
import { readItem } from './read-item.js';

export type LargeItemDependencies = IndexItemsDependencies & {
  chunks: Pick<Chunks, 'listTexts' | 'put'>;
  checkpoints: CheckpointStore;
};

export type LargeItemActivities = ReturnType<typeof createLargeItemActivities>;

/**
 * The steps of indexing a large item, in the order of its statuses. Each can be repeated. A step whose version is deleted or replaced is
 * stopped; what it has written is cleared by it or by the next step, which does not find the version any more.
 */
export function createLargeItemActivities(deps: LargeItemDependencies) {
  const { items, chunks, checkpoints, databases, databaseIndexes, index, embedders } = deps;
  const end = createEndItems(deps);
  const runStep = createItemRuns(items, deps.runsAlone);
  const modelFor = createModelChoice(deps);

  return {
    /** queued -> processing: extracts the text of the item and splits it into chunks. */
    extractItem: (ref: ItemRef): Promise<void> =>
      forRun(ref, { step: 'extract', indexing_status: 'processing' }, async (item, signal) => {
        if (!(await databases.isOpen(databaseOf(item)))) {
          await interruptItems(deps, databaseOf(item), [item._id]);
          throw superseded();
        }
        const withLanguages = await createLanguageMarks();
        let stored = 0;
        const store = async (title: string | null, drafts: Chunk[]) => {
          if (stored === 0 && item.title === null && title) await items.setTitle(ref, title.slice(0, 500));
          await chunks.put(await withLanguages(chunkRecords(item, item.title ?? title, drafts)));
          stored += drafts.length;
        };
        await readItem(deps, item, store, signal, checkpoints.of(ref.org, checkpointOwner(ref)));
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
        const model = modelFor(database._id, current);
        if (model) {
          for await (const page of chunks.embeddedPages(ref, generation)) {
            await embedStored(model, chunks, page, { ...ref, generation }, signal);
          }
        }
        const chunkIds: string[] = [];
        for await (const page of chunks.embeddedPages(ref, generation)) {
          if (signal.aborted) break;
          const ids = page.map((chunk) => chunk._id);
          // The rows of the served version stay until this version is complete.
          const repeatedIds = Context.current().info.attempt > 1 ? ids : [];
          await index.write(tableOf(database._id, current), rowsOf(item, page, database.metadata_schema), repeatedIds);
          chunkIds.push(...ids);
        }
        if (next && !signal.aborted) {
          await indexNextGeneration(deps, ref, next, signal).catch((error) => {
            // The rows above are removed first.
            if (!signal.aborted) throw error;
          });
        }
        if (!(await items.isCurrent(ref))) {
          // Removed by id, because the chunks may be gone already.
          await removeRows(deps, databaseOf(item), chunkIds);
          throw superseded();
        }
        signal.throwIfAborted();
      }),

    /** processing -> graph_creation: extracts entities and relations with their evidence. */
    linkItemGraph: (ref: ItemRef): Promise<void> =>
      forRun(ref, { step: 'link', indexing_status: 'graph_creation' }, async (item, signal) => {
        const texts = await chunks.listTexts(ref, MAX_GRAPH_CHARACTERS);
        const graph = await deps.graphExtractor.extract(texts, signal, item.org);
        await deps.graph.put([{ item, graph }], { replace: true });
      }),

    /** -> completed | errored, with the delivery that notifies the client. */
    finishItem: (ref: ItemRef, outcome: ItemOutcome): Promise<ItemOutcome> =>
      forItem(ref, async () => {
        if ((await end([ref], outcome)).has(ref.item)) return outcome;
        if (!(await items.isCurrent(ref))) throw superseded();
        // An attempt that was lost has ended it.
        return outcome;
      }),
  };

  /** A step that may take long or kill its process: a run is counted as lost unless it ends. */
  function forRun(
    ref: ItemRef,
    run: Parameters<typeof runStep>[1],
    step: (item: ItemRecord, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    return forItem(ref, (signal) => runStep(ref, run, signal, step));
  }

  /** Runs a step, and clears what it has written if it ends the work on the version. */
  function forItem<T>(ref: ItemRef, step: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return itemStep(items, [ref], async (signal) => {
      try {
        return await step(signal);
      } catch (error) {
        await clearAfter(ref, error);
        throw error;
      }
    });
  }

  /** @throws an error of the storage, which is then retried instead of the error of the step */
  async function clearAfter(ref: ItemRef, error: unknown): Promise<void> {
    if (!(error instanceof ExtractionError || isSuperseded(error))) return;
    // Parts of an item that failed must not be found. What a version wrote after its replacement is invisible, but nothing else
    // would delete it; the data of a version that another run has finished belongs to it.
    if (error instanceof ExtractionError || !(await items.isCurrent(ref))) await clearVersion(deps, ref);
    await checkpoints.drop(ref.org, checkpointOwner(ref)).catch(() => undefined);
  }
}
