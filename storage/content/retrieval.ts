import { searchableText } from '../../domain/content/chunking.js';
import type { OwnedDatabase } from '../../domain/content/databases.js';
import { describeModel, type Embedders } from '../../domain/content/embedding-models.js';
import { hasCurrentAnalysis, tableOf } from '../../domain/content/index-generations.js';
import { asServed } from '../../domain/content/items.js';
import type { MetadataFilter } from '../../domain/content/metadata-filters.js';
import { withinBudget } from '../../domain/content/passages.js';
import { createQueryVectors } from '../../domain/content/query-vectors.js';
import { type RatingTally, ratedPlaces, rerank, type ScoreParts } from '../../domain/content/ranking.js';
import { inNewOrder, RERANKED, type Reranker } from '../../domain/content/reranking.js';
import type {
  ItemType,
  QueryMode,
  SearchHit,
  SearchIndex,
  SearchRequest,
  SourceFilter,
  TextOperator,
} from '../../domain/content/search.js';
import { ServiceError } from '../../domain/errors.js';
import { chunkOwner } from '../../domain/ids.js';
import type { ChunkRecord } from './chunks.js';
import type { DatabaseRecord } from './databases.js';
import type { Feedback } from './feedback.js';
import type { GraphStore } from './graph.js';
import type { Items } from './items.js';
import { readPassages, withoutNeighbours } from './passages.js';
import { createHighlighter } from './search-index/highlights.js';
import {
  type Best,
  itemsOf,
  type RankedHit,
  type Result,
  readServed,
  type ServedHitsDependencies,
  SPARE,
} from './served-hits.js';

/** A query as a client sends it. */
export interface QueryRequest {
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
  /** Whether to return the parts of the scores. */
  explain?: boolean | undefined;
  /** Chunks before and after each hit that are returned with it; none by default. */
  expand?: number | undefined;
  /** Tokens that the texts of the result may have together. */
  max_tokens?: number | undefined;
}

export type Retrieval = ReturnType<typeof createRetrieval>;

/** Hits of the index that ratings can reorder; later hits are not considered. */
const CANDIDATES = 50;
/** The same for weights and recency, which can move a hit further. */
const WEIGHTED_CANDIDATES = 100;
/** Searches of one query: again, when versions that are not served took the places of others. */
const MAX_SEARCHES = 5;
/** By how much deeper the next search is: a large item that is being replaced can have the first hundreds of hits. */
const DEEPER = 4;
/** Collections whose hidden items a search leaves out: each takes clauses of the query, of which OpenSearch has few. */
const HIDDEN_COLLECTIONS = 50;
const NO_RATINGS: RatingTally = { sum: 0, count: 0 };
/** Maximum number of relations and of entities in a response. */
const MAX_GRAPH = 50;

/** The stores and models that a query reads. */
export interface RetrievalDependencies extends ServedHitsDependencies {
  index: Pick<SearchIndex, 'search'>;
  embedders: Pick<Embedders, 'current' | 'find'>;
  items: Pick<Items, 'listByIds' | 'listByKeys'>;
  graph: Pick<GraphStore, 'graphAround'>;
  feedback: Pick<Feedback, 'getTallies'>;
  /** Null: the first ranking stands. */
  reranker: Reranker | null;
}

/** The fields of a stored database that a query needs. */
type QueriedDatabase = Pick<DatabaseRecord, '_id' | 'org' | 'index' | 'rated'>;

const OUTDATED_TEXTS =
  'The text of this database was indexed by another version. An operator can rebuild the index with "postback index rebuild".';
const NO_GRAPH: Awaited<ReturnType<GraphStore['graphAround']>> = { entities: [], relations: [] };

/**
 * Runs queries. The index finds chunks; MongoDB has their content and shows which version of an item is served. A version that
 * becomes served has all its rows before, and the rows of its predecessor are removed after that.
 */
export function createRetrieval(deps: RetrievalDependencies) {
  const queryVectors = createQueryVectors();
  const highlighter = createHighlighter();
  return {
    /**
     * @returns chunks, best first, and the graph around them
     * @throws ServiceError SERVICE_UNAVAILABLE when the query needs an embedding model that this process does not have, or a
     * rebuild of the index;
     * INVALID_PARAMETERS when it has ids without a collection, and one of them exists in several
     */
    async query(database: QueriedDatabase, question: QueryRequest) {
      const best = await search(database, question, {
        mode: modeFor(database, question),
        query: question.query,
        operator: question.operator,
        vector: await vectorOf(database, question),
        collections: question.collections,
        type: question.type,
        sources: await sourcesOf(database, question),
        metadata: question.metadata,
        limit: candidates(database, question),
      });
      const passages = await passagesOf(database, question, best);
      const shown = passages.flatMap(({ found }) => found);
      const [highlights, graph] = await Promise.all([
        highlighter.mark(
          question.query,
          passages.map(({ text, best: { chunk } }) => ({ text, language: chunk.language })),
        ),
        graphOf(database, question, shown),
      ]);
      return {
        chunks: passages.map(({ best: { chunk, item, hit }, ...passage }, at) => ({
          chunk_id: chunk._id,
          ...(question.expand ? { chunk_ids: passage.chunk_ids, hits: passage.hits } : {}),
          source_id: chunk.source_id,
          title: item.title,
          text: passage.text,
          ...(passage.truncated ? { truncated: true } : {}),
          highlights: highlights[at]!,
          ...(passage.code.length > 0 ? { code: passage.code } : {}),
          score: hit.score,
          metadata: { ...item.additional_metadata, ...item.metadata },
          location: locationOf(chunk),
          ...(question.explain ? { explain: explain(hit) } : {}),
          collection: chunk.collection,
          type: chunk.type,
        })),
        graph,
        warning: question.mode === 'hybrid' ? warningOf(database) : undefined,
      };
    },
  };

  /** @returns the hits as texts, with their neighbours, as many as the budget has room for */
  async function passagesOf(
    database: OwnedDatabase,
    { expand = 0, max_tokens }: QueryRequest,
    best: readonly Result[],
  ) {
    const passages = await readPassages(deps.chunks, database._id, best, expand);
    return max_tokens === undefined ? passages : withinBudget(passages, max_tokens, withoutNeighbours);
  }

  /**
   * @returns the mode that the index supports
   * @throws ServiceError SERVICE_UNAVAILABLE when the terms of the query would not be those of the index
   */
  function modeFor({ index }: QueriedDatabase, { mode }: QueryRequest): QueryMode {
    if (mode === 'vector' || hasCurrentAnalysis(index)) return mode;
    if (mode === 'hybrid' && deps.embedders.find(index.embeddings)) return 'vector';
    throw new ServiceError('SERVICE_UNAVAILABLE', OUTDATED_TEXTS);
  }

  function warningOf(database: QueriedDatabase): string | undefined {
    if (!hasCurrentAnalysis(database.index)) return `${OUTDATED_TEXTS} Only vectors are searched.`;
    return lacksModel(database) ? missingModelMessage(database) : undefined;
  }

  function lacksModel({ index }: QueriedDatabase): boolean {
    return index.embeddings !== null && deps.embedders.current !== null && !deps.embedders.find(index.embeddings);
  }

  /** @returns the vector of the query, of the model that the database's vectors have; null: only full text is searched */
  async function vectorOf(
    { _id, org, index }: QueriedDatabase,
    { mode, query }: QueryRequest,
  ): Promise<Float32Array | null> {
    if (mode === 'text') return null;
    const embedder = deps.embedders.find(index.embeddings);
    if (embedder) return queryVectors.get(embedder, _id, query, org);
    if (mode !== 'vector') return null;
    if (!deps.embedders.current) {
      throw new ServiceError('SERVICE_UNAVAILABLE', 'No embedding model is available: query_by can only be "text".');
    }
    if (index.embeddings === null) return null;
    throw new ServiceError('SERVICE_UNAVAILABLE', `${missingModelMessage({ index })} query_by can only be "text".`);
  }

  /**
   * Searches again for versions that became served after the search. When too few hits are served, it searches deeper, and
   * without the items that no query can find: a large one can have more of the first hits than any search reads. A version
   * that is missing twice does not match the query.
   */
  async function search(database: QueriedDatabase, question: QueryRequest, request: SearchRequest) {
    const missing = new Set<string>();
    const hidden: Best['hidden'] = [];
    let reranker = question.mode === 'hybrid' ? deps.reranker : null;
    for (let searches = 1, { limit } = request; ; searches += 1) {
      const found = await deps.index.search(tableOf(database._id, database.index), {
        ...request,
        ...(hidden.length > 0 ? { without: await stillHidden(database, hidden) } : {}),
        limit,
      });
      const again = reranker && (await rankAgain(reranker, database, question.query, found));
      // Once per query, so that a slow server delays a query by one time limit.
      if (!again) reranker = null;
      const hits = again ?? found;
      const result = await readServed(deps, database, await reorder(database, question, hits), question.max_results);
      const switched = result.missing.some((version) => !missing.has(version));
      const tooFew = result.unserved > 0 && result.best.length < question.max_results && hits.length === limit;
      if (searches === MAX_SEARCHES || !(switched || tooFew)) return result.best;
      for (const version of result.missing) missing.add(version);
      if (!tooFew) continue;
      hidden.push(...result.hidden);
      limit *= DEEPER;
    }
  }

  /**
   * @returns a filter for the items whose ids are not served. One may be served by now, or be that of a deleted item, whose rows
   * are being removed, and of a new one
   */
  async function stillHidden(database: OwnedDatabase, hidden: Best['hidden']): Promise<SourceFilter[]> {
    return Promise.all(
      filtersOf(hidden)
        .slice(0, HIDDEN_COLLECTIONS)
        .map(async ({ collection, ids }) => {
          const items = await deps.items.listByIds(database, ids, collection);
          const served = new Set(items.filter((item) => item.served_version !== null).map(({ id }) => id));
          return { collection, ids: ids.filter((id) => !served.has(id)) };
        }),
    );
  }

  /** @returns the hits with the best of them in the order of the second ranking; null when there is none */
  async function rankAgain(
    reranker: Reranker,
    database: OwnedDatabase,
    query: string,
    hits: readonly SearchHit[],
  ): Promise<SearchHit[] | null> {
    const best = hits.slice(0, RERANKED);
    const chunks = await deps.chunks.getByIds(
      database._id,
      best.map(({ chunk_id }) => chunk_id),
    );
    const texts = new Map<SearchHit, string>();
    for (const hit of best) {
      const chunk = chunks.get(hit.chunk_id);
      if (chunk) texts.set(hit, searchableText(chunk.title, chunk));
    }
    if (texts.size < 2) return null;
    const order = await reranker.rank(query, [...texts.values()], database.org);
    const ranked = [...texts.keys()];
    return (
      order &&
      inNewOrder(
        hits,
        order.map((at) => ranked[at]!),
      )
    );
  }

  /** @returns the items that the query names by id; undefined when it names none */
  async function sourcesOf(
    database: OwnedDatabase,
    { ids, collections }: QueryRequest,
  ): Promise<SourceFilter[] | undefined> {
    if (!ids) return undefined;
    if (collections) return [{ ids }];
    return filtersOf(await deps.items.listByIds(database, ids));
  }

  /** Reorders hits by the weights of collections, by recency and by ratings, which change their scores. */
  async function reorder(
    database: QueriedDatabase,
    { weights, recency_bias = 0 }: QueryRequest,
    hits: readonly SearchHit[],
  ): Promise<RankedHit[]> {
    const keys = itemsOf(hits.map(({ chunk_id }) => chunk_id));
    const [tallies, items] = await Promise.all([
      database.rated ? deps.feedback.getTallies(database.org, keys) : new Map<string, RatingTally>(),
      weights || recency_bias > 0 ? deps.items.listByKeys(database.org, keys) : [],
    ]);
    if (tallies.size === 0 && items.length === 0) return [...hits];
    const owners = new Map(items.map((item) => [item._id, item]));
    return rerank(
      hits,
      ({ chunk_id }) => {
        const { item } = chunkOwner(chunk_id);
        const owner = owners.get(item);
        return {
          weight: (owner && weights?.get(owner.collection)) ?? 1,
          changed: owner && recency_bias > 0 ? asServed(owner).updated_at.getTime() : 0,
          places: ratedPlaces(tallies.get(item) ?? NO_RATINGS),
        };
      },
      recency_bias,
    );
  }

  /** @returns how many hits are read: all that can be shown once they have been put into another order */
  function candidates({ rated }: QueriedDatabase, { weights, recency_bias = 0, max_results }: QueryRequest): number {
    const shown = max_results + SPARE;
    if (weights || recency_bias > 0) return WEIGHTED_CANDIDATES;
    return rated || deps.reranker ? Math.max(CANDIDATES, shown) : shown;
  }

  async function graphOf(database: OwnedDatabase, { graph_context }: QueryRequest, ids: readonly string[]) {
    if (!graph_context || ids.length === 0) return NO_GRAPH;
    return deps.graph.graphAround(database._id, itemsOf(ids), ids, MAX_GRAPH);
  }
}

/** @returns a filter for each collection that has some of the items */
function filtersOf(items: readonly { collection: string; id: string }[]): SourceFilter[] {
  const byCollection = Map.groupBy(items, ({ collection }) => collection);
  return [...byCollection].map(([collection, own]) => ({ collection, ids: own.map(({ id }) => id) }));
}

function missingModelMessage({ index }: Pick<QueriedDatabase, 'index'>): string {
  return `The vectors of the database are of ${describeModel(index.embeddings)}, a model that is not available until the index is rebuilt: only text is searched.`;
}

/** @returns the parts of a score. `text` and `vector` are null when the ranking lacks the chunk */
function explain({ score, text_score, vector_score, parts }: RankedHit) {
  const unchanged: ScoreParts = { relevance: score, weight: 1, recency: null, rating: 0 };
  return { text: text_score ?? null, vector: vector_score ?? null, ...(parts ?? unchanged) };
}

/** @returns the location of a chunk in its document, without absent fields */
function locationOf({ page, page_label, slide, slide_title, sheet, attachment, rows, headings }: ChunkRecord) {
  return {
    page: page ?? undefined,
    page_label,
    slide,
    slide_title,
    sheet: sheet ?? undefined,
    attachment,
    rows,
    headings: headings.length === 0 ? undefined : headings,
  };
}
