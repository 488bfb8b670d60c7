import { ServiceError } from '../errors.js';
import type { IndexingStatus } from '../states.js';
import type { Relation } from './graph.js';
import type { MetadataFilter } from './metadata-filters.js';
import { type RatingTally, ratingWeight, rerank } from './ranking.js';
import type { Embedder, ItemType, QueryMode, SearchHit, SearchIndex, TextOperator } from './search.js';
import type { ItemRef } from './workflow-contract.js';

export interface Question {
  query: string;
  mode: QueryMode;
  operator: TextOperator;
  collections?: readonly string[] | undefined;
  /** How much hits of a collection weigh; 1 where it is not named. */
  weights?: ReadonlyMap<string, number> | undefined;
  type?: ItemType | undefined;
  ids?: readonly string[] | undefined;
  metadata?: MetadataFilter | undefined;
  /** 0 (as without it) to 1. */
  recency_bias?: number | undefined;
  max_results: number;
  graph_context: boolean;
}

export type Retrieval = ReturnType<typeof createRetrieval>;

/** Hits of the index that weights, recency and ratings reorder: what is behind these cannot come forward. */
const POOL = 100;
/** More chunks are read than asked for: a hit may belong to a version that has just been replaced. */
const SPARE = 10;
/** Relations and entities that an answer carries at the most. */
const MAX_GRAPH = 50;

/** The fields of a stored chunk that a result shows. */
export interface RetrievedChunk {
  _id: string;
  item: string;
  version: number;
  source_id: string;
  collection: string;
  type: ItemType;
  text: string;
  headings: string[];
  page: number | null;
  page_label?: string;
  slide?: number;
  slide_title?: string;
  sheet: string | null;
  /** First and last row of a table, from 1. */
  rows?: [number, number];
}

/** The fields of a stored item that a result shows. */
export interface RetrievedItem {
  _id: string;
  id: string;
  version: number;
  title: string | null;
  indexing_status: IndexingStatus;
  metadata: Record<string, unknown>;
  additional_metadata: Record<string, unknown>;
  updated_at: Date;
}

/** What a query reads. */
export interface RetrievalDependencies {
  index: Pick<SearchIndex, 'search'>;
  embedder: Pick<Embedder, 'embedQuery'> | null;
  chunks: { getByIds(ids: readonly string[]): Promise<Map<string, RetrievedChunk>> };
  items: {
    listByKeys(keys: readonly string[]): Promise<RetrievedItem[]>;
    listByIds(databaseId: string, ids: readonly string[]): Promise<RetrievedItem[]>;
  };
  graph: { graphAround(refs: readonly ItemRef[], chunkIds: readonly string[], limit: number): Promise<GraphContext> };
  feedback: { getTallies(databaseId: string, sources: readonly string[]): Promise<Map<string, RatingTally>> };
}

export interface GraphContext {
  entities: { name: string; type: string; source_ids: string[]; chunk_ids: string[] }[];
  relations: (Pick<Relation, 'source' | 'target' | 'relation' | 'evidence'> & { source_id: string })[];
}

interface Result {
  chunk: RetrievedChunk;
  item: RetrievedItem;
  score: number;
}

/** Runs queries: the index finds chunks, MongoDB says what they are and whether they still exist. */
export function createRetrieval(deps: RetrievalDependencies) {
  return {
    /** @throws ServiceError SERVICE_UNAVAILABLE when the question needs a model or an index that is not there */
    async query(database: { _id: string }, question: Question) {
      if (question.mode === 'vector' && !deps.embedder) {
        throw new ServiceError('SERVICE_UNAVAILABLE', 'There is no embedding model: query_by can only be "text".');
      }
      const vector = deps.embedder && question.mode !== 'text' ? await deps.embedder.embedQuery(question.query) : null;
      const hits = await deps.index.search(database._id, {
        mode: question.mode,
        query: question.query,
        operator: question.operator,
        vector,
        collections: question.collections,
        type: question.type,
        source_ids: question.ids,
        metadata: question.metadata,
        limit: POOL,
      });
      const best = await current(await reordered(database._id, question, hits), question.max_results);
      const graph = question.graph_context
        ? await deps.graph.graphAround(
            [...new Map(best.map(({ item }) => [item._id, { item: item._id, version: item.version }])).values()],
            best.map(({ chunk }) => chunk._id),
            MAX_GRAPH,
          )
        : { entities: [], relations: [] };
      return {
        chunks: best.map(({ chunk, item, score }) => ({
          chunk_id: chunk._id,
          source_id: chunk.source_id,
          title: item.title,
          text: chunk.text,
          score,
          metadata: { ...item.additional_metadata, ...item.metadata, ...place(chunk) },
          collection: chunk.collection,
          type: chunk.type,
        })),
        graph,
      };
    },
  };

  async function reordered(
    databaseId: string,
    { weights, recency_bias = 0 }: Question,
    hits: readonly SearchHit[],
  ): Promise<SearchHit[]> {
    const sources = [...new Set(hits.map((hit) => hit.source_id))];
    const [tallies, owners] = await Promise.all([
      deps.feedback.getTallies(databaseId, sources),
      recency_bias > 0 ? deps.items.listByIds(databaseId, sources) : [],
    ]);
    if (tallies.size === 0 && !weights && owners.length === 0) return [...hits];
    const changed = new Map(owners.map((item) => [item.id, item.updated_at.getTime()]));
    const ratings = new Map([...tallies].map(([source, tally]) => [source, ratingWeight(tally)]));
    return rerank(
      hits,
      ({ source_id, collection }) => ({
        weight: (weights?.get(collection) ?? 1) * (ratings.get(source_id) ?? 1),
        changed: changed.get(source_id) ?? 0,
      }),
      recency_bias,
    );
  }

  /** The first of these hits that are what the database holds now, read a few at a time. */
  async function current(hits: readonly SearchHit[], limit: number): Promise<Result[]> {
    const found = new Map<string, Result>();
    for (let at = 0; at < hits.length && found.size < limit; at += limit + SPARE) {
      const some = hits.slice(at, at + limit + SPARE);
      const chunks = await deps.chunks.getByIds(some.map((hit) => hit.chunk_id));
      const owners = await deps.items.listByKeys([...new Set([...chunks.values()].map((chunk) => chunk.item))]);
      const items = new Map(owners.map((item) => [item._id, item]));
      for (const { chunk_id, score } of some) {
        const chunk = chunks.get(chunk_id);
        const item = chunk && items.get(chunk.item);
        if (!chunk || !item || item.version !== chunk.version || item.indexing_status === 'errored') continue;
        if (!found.has(chunk_id)) found.set(chunk_id, { chunk, item, score });
      }
    }
    return [...found.values()].slice(0, limit);
  }
}

/** Where in its document a chunk stands. */
function place(chunk: RetrievedChunk): Record<string, unknown> {
  return {
    ...(chunk.page === null ? {} : { page: chunk.page }),
    ...(chunk.page_label === undefined ? {} : { page_label: chunk.page_label }),
    ...(chunk.slide === undefined ? {} : { slide: chunk.slide }),
    ...(chunk.slide_title === undefined ? {} : { slide_title: chunk.slide_title }),
    ...(chunk.sheet === null ? {} : { sheet: chunk.sheet }),
    ...(chunk.rows === undefined ? {} : { rows: chunk.rows }),
    ...(chunk.headings.length === 0 ? {} : { headings: chunk.headings }),
  };
}
