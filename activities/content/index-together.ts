import type { Chunk } from '../../domain/content/chunking.js';
import type { Graph, GraphText } from '../../domain/content/graph.js';
import { generationsOf, type IndexGeneration, tableOf } from '../../domain/content/index-generations.js';
import type { SearchIndex } from '../../domain/content/search.js';
import { type ItemRef, refOf } from '../../domain/content/workflow-contract.js';
import { withPauses } from '../../domain/event-loop.js';
import { ExtractionError } from '../../domain/extraction.js';
import { ProcessLostError } from '../../providers/isolation/protocol.js';
import { type Chunks, chunkRecords, type EmbeddedChunk } from '../../storage/content/chunks.js';
import type { DatabaseIndexes } from '../../storage/content/database-indexes.js';
import type { GraphStore } from '../../storage/content/graph.js';
import { removeRows, rowsOf } from '../../storage/content/index-rows.js';
import type { ItemRecord, Items } from '../../storage/content/items.js';
import { createLanguageMarks } from './chunk-languages.js';
import { databaseOf } from './databases.js';
import { embedMissing } from './embed-chunks.js';
import { createEndItems, type EndItemsDependencies } from './end-items.js';
import {
  createModelChoice,
  type IndexNextGenerationDependencies,
  indexNextGeneration,
} from './index-next-generation.js';
import { isSuperseded, superseded } from './item-failures.js';
import { type ReadItemDependencies, readItem } from './read-item.js';

export interface GraphExtractor {
  extract(chunks: GraphText[], signal?: AbortSignal, org?: string): Promise<Graph>;
}

export type IndexTogetherDependencies = EndItemsDependencies &
  IndexNextGenerationDependencies &
  ReadItemDependencies & {
    items: Pick<Items, 'keepInProgress' | 'linkGraph' | 'listByKeys' | 'setTitle'>;
    databaseIndexes: Pick<DatabaseIndexes, 'getForEmbedding'>;
    chunks: Pick<Chunks, 'add' | 'listStored' | 'remove'>;
    graph: Pick<GraphStore, 'put'>;
    index: Pick<SearchIndex, 'exists'>;
    graphExtractor: GraphExtractor;
  };

interface Work {
  item: ItemRecord;
  chunks: EmbeddedChunk[];
}

/**
 * @returns a function that indexes small items of one database together, from `processing` to `completed`. Each step is one
 * write. It can be repeated, and another run of the same items may work beside it. It fills `failures`, also when it throws,
 * with the errors of the items that did not complete here, by key.
 */
export function createIndexTogether(deps: IndexTogetherDependencies) {
  const { items, databaseIndexes, embedders, chunks, graph, index } = deps;
  const end = createEndItems(deps);
  const complete = (versions: readonly ItemRef[]) => end(versions, { status: 'completed' });
  const modelFor = createModelChoice(deps);

  return async (records: readonly ItemRecord[], signal: AbortSignal, failures: Map<string, unknown>): Promise<void> => {
    /** Keeps the work whose items the check keeps; the others were replaced or deleted, or another run finished them. */
    const keep = async (
      work: Work[],
      check: (versions: readonly ItemRef[]) => Promise<ReadonlySet<string>>,
    ): Promise<Work[]> => {
      if (work.length === 0) return work;
      const kept = await check(refsOf(work));
      for (const { item } of work) if (!kept.has(item._id)) failures.set(item._id, superseded());
      return work.filter(({ item }) => kept.has(item._id));
    };

    let work = await divide(records, failures, signal);
    if (work.length === 0) return;
    const stored = await chunks.listStored(records);
    const database = await databaseIndexes.getForEmbedding(databaseOf(records[0]!), embedders.current);
    if (!database) throw beingDeleted();
    const read = database.index;
    await embed(work, stored, read, signal);
    work = await keep(work, items.keepInProgress);
    if (work.length === 0) return;

    // An attempt that was given up must not write beside the next one.
    signal.throwIfAborted();
    const written = work;
    try {
      await writeChunks(work, stored, read, signal);
      work = await keep(work, items.linkGraph);
      await linkGraph(work, stored, failures, signal);
      work = work.filter(({ item }) => !failures.has(item._id));
      signal.throwIfAborted();
      await keep(work, complete);
    } catch (error) {
      // The next attempt does not see the items that are gone.
      await withdraw(written).catch(() => undefined);
      throw error;
    }
    await withdraw(written.filter(({ item }) => isSuperseded(failures.get(item._id))));
  };

  /**
   * Removes the rows and chunks of the items that were deleted or replaced, or failed elsewhere, while they were written. They
   * are removed by id, because the chunks may be gone already. A completed item has the same ids, and keeps them.
   */
  async function withdraw(work: readonly Work[]): Promise<void> {
    if (work.length === 0) return;
    const keys = work.map(({ item }) => item._id);
    const found = new Map((await items.listByKeys(work[0]!.item.org, keys)).map((item) => [item._id, item]));
    const left = work.filter(({ item: { _id, version } }) => {
      const item = found.get(_id);
      // Another run may have completed a version before it was replaced.
      if (item?.served_version === version) return false;
      return item?.version !== version || item.indexing_status === 'errored';
    });
    if (left.length === 0) return;
    const database = databaseOf(left[0]!.item);
    const ids = left.flatMap(({ chunks: own }) => own.map(({ _id }) => _id));
    await removeRows(deps, database, ids);
    await chunks.remove(database._id, ids);
  }

  /** Reads the items and divides their texts. An item that cannot be read fails alone. */
  async function divide(
    records: readonly ItemRecord[],
    failures: Map<string, unknown>,
    signal: AbortSignal,
  ): Promise<Work[]> {
    const work: Work[] = [];
    for await (const item of withPauses(records)) {
      try {
        work.push(await divideItem(item, signal));
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ExtractionError || error instanceof ProcessLostError)) throw error;
        failures.set(item._id, error);
      }
    }
    return work;
  }

  /** @throws ExtractionError, ProcessLostError, or an error of the storage */
  async function divideItem(item: ItemRecord, signal: AbortSignal): Promise<Work> {
    const drafts: Chunk[] = [];
    let { title } = item;
    await readItem(
      deps,
      item,
      async (own, chunks) => {
        title ??= own;
        for (const chunk of chunks) drafts.push(chunk);
      },
      signal,
    );
    if (drafts.length === 0) throw new ExtractionError('E2004');
    if (item.title === null && title) {
      await items.setTitle(refOf(item), title.slice(0, 500));
    }
    const withLanguages = await createLanguageMarks();
    const records = await withLanguages(chunkRecords(item, title, drafts));
    return { item: { ...item, title }, chunks: records.map((record) => ({ ...record, vector: null })) };
  }

  /** Embeds all chunks in one batch, except those that an earlier run has stored. */
  async function embed(
    work: readonly Work[],
    repeated: ReadonlySet<string>,
    generation: IndexGeneration,
    signal: AbortSignal,
  ): Promise<void> {
    const model = modelFor(work[0]!.item.database_id, generation);
    if (!model) return;
    const all = work.flatMap(({ chunks: own }) => own);
    const known = await chunks.listById(work[0]!.item.database_id, [...repeated], generation.generation);
    const vectors = new Map(known.map(({ _id, vector }) => [_id, vector]));
    for (const chunk of all) chunk.vector = vectors.get(chunk._id) ?? null;
    await embedMissing(model, all, work[0]!.item.org, signal);
  }

  /**
   * Stores the chunks and writes them to the search index. The rows of served versions stay.
   * @param embedded the index whose vectors the chunks have
   */
  async function writeChunks(
    work: readonly Work[],
    stored: ReadonlySet<string>,
    embedded: IndexGeneration,
    signal: AbortSignal,
  ): Promise<void> {
    const databaseId = work[0]!.item.database_id;
    const all = work.flatMap(({ chunks: own }) => own);
    await chunks.add(all, embedded.generation, stored);
    // Read after the chunks were stored: a rebuild that begins later finds them.
    const database = await databaseIndexes.getById(databaseOf(work[0]!.item));
    if (!database) throw beingDeleted();
    for (const generation of generationsOf(database)) {
      if (generation.generation === embedded.generation) {
        const repeated = all.flatMap(({ _id }) => (stored.has(_id) ? [_id] : []));
        const rows = work.flatMap(({ item, chunks: own }) => rowsOf(item, own, database.metadata_schema));
        await index.write(tableOf(databaseId, generation), rows, repeated);
      } else {
        for (const { item } of work) {
          await indexNextGeneration(deps, refOf(item), generation, signal);
        }
      }
    }
  }

  /** Extracts and stores the graphs. An item whose graph cannot be extracted fails alone. */
  async function linkGraph(
    work: readonly Work[],
    stored: ReadonlySet<string>,
    failures: Map<string, unknown>,
    signal: AbortSignal,
  ): Promise<void> {
    const extracted = await Promise.all(
      work.map(async ({ item, chunks: own }) => {
        try {
          return [{ item, graph: await deps.graphExtractor.extract(textsOf(own), signal, item.org) }];
        } catch (error) {
          if (signal.aborted) throw error;
          failures.set(item._id, error);
          return [];
        }
      }),
    );
    await graph.put(extracted.flat(), { replace: stored.size > 0 });
  }
}

const beingDeleted = () => new Error('The database is being deleted.');

function refsOf(work: readonly Work[]): ItemRef[] {
  return work.map(({ item }) => refOf(item));
}

function textsOf(chunks: readonly EmbeddedChunk[]): GraphText[] {
  return chunks.map(({ _id, text, code }) => ({ chunk_id: _id, text, ...(code && { code }) }));
}
