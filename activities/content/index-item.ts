import { join } from 'node:path';
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import type { MongoClient } from 'mongodb';
import type { Logger } from 'pino';
import type { Checkpoints } from '../../domain/checkpoints.js';
import { chunkSections, searchableText } from '../../domain/content/chunking.js';
import type { Graph } from '../../domain/content/graph.js';
import { rowsOf } from '../../domain/content/index-rows.js';
import type { Embedder, SearchIndex } from '../../domain/content/search.js';
import type { IngestRef, ItemOutcome, ItemRef } from '../../domain/content/workflow-contract.js';
import { type Extraction, ExtractionError } from '../../domain/extraction.js';
import type { FileStore } from '../../domain/file-store.js';
import type { WorkMetrics } from '../../domain/metrics.js';
import type { Extractor } from '../../providers/extraction/index.js';
import { type CheckpointStore, checkpointOwner } from '../../storage/checkpoints.js';
import { type Chunks, chunkRecords, type EmbeddedChunk } from '../../storage/content/chunks.js';
import type { Databases } from '../../storage/content/databases.js';
import type { GraphStore } from '../../storage/content/graph.js';
import type { ItemRecord, Items } from '../../storage/content/items.js';
import type { Scratch } from '../../storage/scratch.js';
import type { Deliveries } from '../../storage/webhooks/deliveries.js';
import type { Registrations } from '../../storage/webhooks/registrations.js';
import type { ContentStarters } from '../../temporal/content/starters.js';
import { asActivityFailure } from '../failures.js';
import { withHeartbeat } from '../heartbeat.js';
import type { CompletionDependencies } from '../webhooks/completion.js';
import { clearItems } from './clear-items.js';
import { createFinish } from './finish-item.js';
import { describeItemError, isFinal, isSuperseded, itemFailureRules, superseded } from './item-failures.js';

export interface ContentDependencies {
  mongoClient: MongoClient;
  databases: Databases;
  items: Items;
  files: FileStore;
  scratch: Scratch;
  chunks: Chunks;
  checkpoints: CheckpointStore;
  graph: GraphStore;
  registrations: Registrations;
  deliveries: Deliveries;
  index: SearchIndex;
  embedder: Embedder | null;
  extractor: Extractor;
  graphExtractor: { extract(chunks: { chunk_id: string; text: string }[], signal?: AbortSignal): Promise<Graph> };
  starters: CompletionDependencies['starters'] & Pick<ContentStarters, 'startItem'>;
  metrics: WorkMetrics;
  log: Logger;
}

export type ContentActivities = ReturnType<typeof createContentActivities>;

/** Texts embedded and stored in one go: what a killed worker has to do again at the most. */
const EMBEDDING_BATCH = 64;
/** Starts under way at once while a large request is being started. */
const CONCURRENT_STARTS = 16;

/** The steps of indexing one item, in the order of its statuses. Each may be repeated without harm. */
export function createContentActivities(deps: ContentDependencies) {
  const { items, chunks, files, checkpoints, index, embedder } = deps;
  const finish = createFinish(deps);

  return {
    /** queued -> processing: reads the item's text and cuts it into chunks. */
    extractItem: (ref: ItemRef): Promise<void> =>
      forItem(ref, async (signal) => {
        if (!(await items.setStatus(ref, 'processing'))) throw superseded();
        const item = await current(ref);
        if (!(await deps.databases.isOpen(item.database_id))) await discard(item);
        const extraction = await extract(item, signal, pageCheckpoints(ref));
        if (item.title === null && extraction.title) await items.setTitle(ref, extraction.title.slice(0, 500));
        const title = item.title ?? extraction.title;
        const drafts = chunkSections({ ...extraction, title });
        if (drafts.length === 0) throw new ExtractionError('E2004');
        await chunks.put(chunkRecords(item, title, drafts));
        await checkpoints.drop(checkpointOwner(ref));
        await current(ref);
      }),

    /** Vectors for the chunks that have none yet, then all of them into the search index. */
    embedAndIndexItem: (ref: ItemRef): Promise<void> =>
      forItem(ref, async (signal) => {
        const item = await current(ref);
        const found = await chunks.listByRef(ref);
        if (embedder) await embedMissing(embedder, found, signal);
        await current(ref); // Embedding takes long; a newer version may have replaced this version.
        const own = found.map((chunk) => chunk._id);
        const older = item.version > 1 ? await chunks.listOlderIds(ref) : [];
        // Rows are removed by id, so that no version can remove what a newer version has written.
        const written = Context.current().info.attempt > 1 ? own : [];
        const schema = await deps.databases.metadataSchema(item.database_id);
        await index.write(item.database_id, rowsOf(item, found, schema), [...older, ...written]);
        if (older.length > 0) await chunks.remove(older);
        if ((await items.getByRef(ref)) === null) {
          // Removed by id, because the chunks may be gone already. A deleted database has no table.
          if (await index.exists(item.database_id)) await index.write(item.database_id, [], own);
          throw superseded();
        }
      }),

    /** processing -> graph_creation: entities and relations with their evidence. */
    linkItemGraph: (ref: ItemRef): Promise<void> =>
      forItem(ref, async (signal) => {
        if (!(await items.setStatus(ref, 'graph_creation'))) throw superseded();
        const item = await current(ref);
        const texts = (await chunks.listByRef(ref)).map((chunk) => ({ chunk_id: chunk._id, text: chunk.text }));
        await deps.graph.put(item, await deps.graphExtractor.extract(texts, signal));
        await current(ref);
      }),

    /** -> completed | errored, with the delivery that announces it. */
    finishItem: (ref: ItemRef, outcome: ItemOutcome): Promise<ItemOutcome> =>
      forItem(ref, async () => {
        if (!(await finish(ref, outcome))) throw superseded();
        return outcome;
      }),

    /** Starts the workflow of each queued item of a request; goes on where a killed worker stopped. */
    startItems: ({ org, batch }: IngestRef): Promise<number> =>
      withHeartbeat(async () => {
        let last = '';
        let started = 0;
        for (;;) {
          const page = await items.listQueued(org, batch, last, 200);
          if (page.length === 0) return started;
          for (let n = 0; n < page.length; n += CONCURRENT_STARTS) {
            await Promise.all(page.slice(n, n + CONCURRENT_STARTS).map((item) => deps.starters.startItem(item)));
          }
          started += page.length;
          last = page.at(-1)!._id;
        }
      }),
  };

  async function forItem<T>(ref: ItemRef, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await withHeartbeat(work);
    } catch (error) {
      // What this version has written meanwhile harms nobody, but would stay for ever.
      if (isSuperseded(error)) await clearLeftovers(ref);
      // No later attempt needs what has been read of the file.
      if (isFinal(error)) await checkpoints.drop(checkpointOwner(ref)).catch(() => undefined);
      deps.log.warn({ err: error, ...ref, activity: Context.current().info.activityType }, 'item activity failed');
      await showTransientError(ref, error);
      throw asActivityFailure(error, itemFailureRules);
    }
  }

  /** The status shows an error that is being retried. Best effort: without MongoDB there is no status to read either. */
  async function showTransientError(ref: ItemRef, error: unknown): Promise<void> {
    if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return;
    const { retryable, code, message } = describeItemError(error) ?? {};
    if (retryable) await items.setTransientError(ref, code!, message!).catch(() => undefined);
  }

  /** An ingest that was under way when its database was deleted has left it behind. */
  async function discard(item: ItemRecord): Promise<never> {
    if (item.source.kind === 'file') await files.remove(item.source.file_id);
    await items.discard({ item: item._id, version: item.version });
    throw superseded();
  }

  async function clearLeftovers(ref: ItemRef): Promise<void> {
    const databaseId = await chunks.findDatabaseId(ref);
    if (databaseId !== null) await clearItems(deps, databaseId, [ref]);
    else await deps.graph.removeUpTo(ref);
  }

  async function current(ref: ItemRef): Promise<ItemRecord> {
    const item = await items.getByRef(ref);
    if (!item) throw superseded();
    return item;
  }

  /** Scanned pages take long: each page checks first whether the version is still current. */
  function pageCheckpoints(ref: ItemRef): Checkpoints {
    const stored = checkpoints.of(checkpointOwner(ref));
    return {
      async load(step) {
        await current(ref);
        return stored.load(step);
      },
      save: stored.save,
    };
  }

  async function extract(item: ItemRecord, signal: AbortSignal, pages: Checkpoints): Promise<Extraction> {
    const { source } = item;
    if (source.kind === 'text') return { title: null, sections: [{ text: source.text, headings: [] }] };
    return deps.scratch.use(async (folder) => {
      const path = join(folder, 'file');
      await files.copyTo(source.file_id, path);
      return deps.extractor.extract({ path, kind: source.file_kind }, signal, pages);
    });
  }

  /** Embeds and stores the vectors that are missing, a batch at a time, and adds them to the chunks. */
  async function embedMissing(model: Embedder, found: readonly EmbeddedChunk[], signal: AbortSignal): Promise<void> {
    const missing = found.filter((chunk) => chunk.vector === null);
    for (let n = 0; n < missing.length; n += EMBEDDING_BATCH) {
      const batch = missing.slice(n, n + EMBEDDING_BATCH);
      const texts = batch.map((chunk) => searchableText(chunk.title, chunk));
      const vectors = await model.embedDocuments(texts, signal);
      await chunks.setVectors(new Map(batch.map((chunk, at) => [chunk._id, vectors[at]!])));
      for (const [at, chunk] of batch.entries()) chunk.vector = vectors[at]!;
    }
  }
}
