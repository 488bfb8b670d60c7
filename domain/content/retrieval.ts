import { ServiceError } from '../errors.js';
import { chunkOwner } from '../ids.js';
import type { IndexingStatus } from '../states.js';
import type { Relation } from './graph.js';
import type { MetadataFilter } from './metadata-filters.js';
import { createQueryVectors } from './query-vectors.js';
import { type RatingTally, ratedPlaces, rerank } from './ranking.js';
import {
  type Embedder,
  type ItemType,
  type QueryMode,
  type SearchHit,
  type SearchIndex,
  type SourceFilter,
  type SourceName,
  sourceKey,
  type TextOperator,
} from './search.js';
import type { ItemRef } from './workflow-contract.js';

/** A query as a client sends it. */
export interface Question {
  query: string;
  mode: QueryMode;
  operator: TextOperator;
  collections?: readonly string[] | undefined;
  /** Weights of collections; the default is 1. */
  weights?: ReadonlyMap<string, number> | undefined;
  type?: ItemType | undefined;
  ids?: readonly string[] | undefined;
  metadata?: MetadataFilter | undefined;
  /** From 0, the default, to 1. */
  recency_bias?: number | undefined;
  max_results: number;
  graph_context: boolean;
}

export type Retrieval = ReturnType<typeof createRetrieval>;

/** Hits of the index that ratings can reorder; later hits are not considered. */
const CANDIDATES = 50;
/** The same for weights and recency, which can move a hit further. */
const WEIGHTED_CANDIDATES = 100;
/** Chunks read in addition to the limit, because a hit may belong to a version that was replaced a moment ago. */
const SPARE = 3;
const NO_RATINGS: RatingTally = { sum: 0, count: 0 };
/** Maximum number of relations and of entities in a response. */
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

/** The fields of a stored item that a result needs. */
export interface RetrievedItem {
  _id: string;
  id: string;
  collection: string;
  version: number;
  title: string | null;
  indexing_status: IndexingStatus;
  metadata: Record<string, unknown>;
  additional_metadata: Record<string, unknown>;
  updated_at: Date;
}

/** The stores and models that a query reads. */
export interface RetrievalDependencies {
  index: Pick<SearchIndex, 'search'>;
  embedder: Pick<Embedder, 'embedQuery'> | null;
  chunks: { getByIds(ids: readonly string[]): Promise<Map<string, RetrievedChunk>> };
  items: {
    listByKeys(keys: readonly string[]): Promise<RetrievedItem[]>;
    listByIds(databaseId: string, ids: readonly string[]): Promise<RetrievedItem[]>;
  };
  graph: { graphAround(refs: readonly ItemRef[], chunkIds: readonly string[], limit: number): Promise<GraphContext> };
  feedback: { getTallies(databaseId: string, sources: readonly SourceName[]): Promise<Map<string, RatingTally>> };
}

/** The part of the knowledge graph that the hits mention. */
export interface GraphContext {
  entities: { name: string; type: string; source_ids: string[]; chunk_ids: string[] }[];
  relations: (Pick<Relation, 'source' | 'target' | 'relation' | 'evidence'> & SourceName)[];
}

const NO_GRAPH: GraphContext = { entities: [], relations: [] };

interface Result {
  chunk: RetrievedChunk;
  item: RetrievedItem;
  score: number;
}

/** Runs queries. The index finds chunks; MongoDB has their content and shows whether they are current. */
export function createRetrieval(deps: RetrievalDependencies) {
  const queryVectors = deps.embedder && createQueryVectors(deps.embedder);
  return {
    /**
     * @returns chunks, best first, and the graph around them
     * @throws ServiceError SERVICE_UNAVAILABLE when the query needs an embedding model and there is none; INVALID_PARAMETERS
     * when it has ids without a collection, and one of them exists in several
     */
    async query(database: { _id: string }, question: Question) {
      if (question.mode === 'vector' && !deps.embedder) {
        throw new ServiceError('SERVICE_UNAVAILABLE', 'No embedding model is available: query_by can only be "text".');
      }
      const vector =
        queryVectors && question.mode !== 'text' ? await queryVectors.get(database._id, question.query) : null;
      const hits = await deps.index.search(database._id, {
        mode: question.mode,
        query: question.query,
        operator: question.operator,
        vector,
        collections: question.collections,
        type: question.type,
        sources: await sourcesOf(database._id, question),
        metadata: question.metadata,
        limit: candidates(question),
      });
      const { best, graph } = await readBest(await reorder(database._id, question, hits), question);
      return {
        chunks: best.map(({ chunk, item, score }) => ({
          chunk_id: chunk._id,
          source_id: chunk.source_id,
          title: item.title,
          text: chunk.text,
          score,
          metadata: { ...item.additional_metadata, ...item.metadata, ...locationOf(chunk) },
          collection: chunk.collection,
          type: chunk.type,
        })),
        graph,
      };
    },
  };

  /** @returns the items that the query names by id; undefined when it names none */
  async function sourcesOf(databaseId: string, { ids, collections }: Question): Promise<SourceFilter[] | undefined> {
    if (!ids) return undefined;
    if (collections) return [{ ids }];
    const byCollection = new Map<string, string[]>();
    for (const { collection, id } of await deps.items.listByIds(databaseId, ids)) {
      byCollection.set(collection, [...(byCollection.get(collection) ?? []), id]);
    }
    return [...byCollection].map(([collection, members]) => ({ collection, ids: members }));
  }

  /** Reorders hits by the weights of collections, by recency and by ratings, which change their scores. */
  async function reorder(
    databaseId: string,
    { weights, recency_bias = 0 }: Question,
    hits: readonly SearchHit[],
  ): Promise<SearchHit[]> {
    const sources = [...new Map(hits.map((hit) => [sourceKey(hit), hit])).values()];
    const [tallies, owners] = await Promise.all([
      deps.feedback.getTallies(databaseId, sources),
      recency_bias > 0 ? deps.items.listByKeys(ownersOf(hits.map((hit) => hit.chunk_id)).map(({ item }) => item)) : [],
    ]);
    if (tallies.size === 0 && !weights && owners.length === 0) return [...hits];
    const changed = new Map(owners.map((item) => [item._id, item.updated_at.getTime()]));
    return rerank(
      hits,
      (hit) => ({
        weight: weights?.get(hit.collection) ?? 1,
        changed: changed.get(chunkOwner(hit.chunk_id).item) ?? 0,
        places: ratedPlaces(tallies.get(sourceKey(hit)) ?? NO_RATINGS),
      }),
      recency_bias,
    );
  }

  /** Reads the graph of the first hits together with their chunks, and again if some of these are not current. */
  async function readBest(hits: readonly SearchHit[], { max_results, graph_context }: Question) {
    const graphOf = (ids: readonly string[]) =>
      graph_context && ids.length > 0 ? deps.graph.graphAround(ownersOf(ids), ids, MAX_GRAPH) : NO_GRAPH;
    const expected = hits.slice(0, max_results).map((hit) => hit.chunk_id);
    const [best, graph] = await Promise.all([readCurrent(hits, max_results), graphOf(expected)]);
    const ids = best.map(({ chunk }) => chunk._id);
    return { best, graph: ids.join() === expected.join() ? graph : await graphOf(ids) };
  }

  /** @returns the first hits whose item version is current, with their chunks and items; reads a few at a time */
  async function readCurrent(hits: readonly SearchHit[], limit: number): Promise<Result[]> {
    const found = new Map<string, Result>();
    for (let start = 0; start < hits.length && found.size < limit; start += limit + SPARE) {
      const batch = hits.slice(start, start + limit + SPARE);
      const ids = batch.map((hit) => hit.chunk_id);
      const [chunks, owners] = await Promise.all([
        deps.chunks.getByIds(ids),
        deps.items.listByKeys(ownersOf(ids).map(({ item }) => item)),
      ]);
      const items = new Map(owners.map((item) => [item._id, item]));
      for (const { chunk_id, score } of batch) {
        const chunk = chunks.get(chunk_id);
        const item = chunk && items.get(chunk.item);
        if (!chunk || !item || item.version !== chunk.version || item.indexing_status === 'errored') continue;
        if (!found.has(chunk_id)) found.set(chunk_id, { chunk, item, score });
      }
    }
    return [...found.values()].slice(0, limit);
  }
}

/** @returns the items and versions that the chunks belong to, each once */
function ownersOf(chunkIds: readonly string[]): ItemRef[] {
  const owners = chunkIds.map(chunkOwner);
  return [...new Map(owners.map((owner) => [`${owner.item}/${owner.version}`, owner])).values()];
}

function candidates({ weights, recency_bias = 0, max_results }: Question): number {
  return weights || recency_bias > 0 ? WEIGHTED_CANDIDATES : Math.max(CANDIDATES, max_results + SPARE);
}

/** @returns the location of a chunk in its document, without absent fields */
function locationOf(chunk: RetrievedChunk): Record<string, unknown> {
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
