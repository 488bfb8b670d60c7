import type { Client } from '@opensearch-project/opensearch';
import type { VectorHit } from '../../../../domain/content/fusion.js';
import type { SearchHit, SearchRequest } from '../../../../domain/content/search.js';
import type { TextAnalysis } from '../analysis.js';
import { languagesOf } from '../columns.js';
import { rankedSearch, type WordQuery } from '../ranked-search.js';
import { anyOf, filtersOf, type Query } from './filters.js';
import type { IndexSchema } from './mapping.js';
import { roundedUnitVector, vectorOf } from './vector-form.js';

/** Nearest vectors that the graph is asked for, as a multiple of the hits: the last of few are often not the nearest. */
const CANDIDATES = 3;
/** Hits, and nearest vectors, that OpenSearch returns at most (`index.max_result_window`, and the limit of `k`). */
const MAX_HITS = 10_000;
/** Terms of a query. OpenSearch accepts 1,024 clauses, with those of the filters. */
const MAX_TERMS = 800;
/** A search takes milliseconds. A client would not wait for two attempts of this length. */
const TIMEOUT = { requestTimeout: 10_000, maxRetries: 1 };

interface Hit {
  _id: string;
  _score: number;
  /** Only the fields that were asked for. */
  _source?: { text?: string; vector_bytes?: string };
}

/** An index, by its alias, and how its texts are analysed. */
export interface SearchedIndex {
  client: Client;
  alias: string;
  schema: IndexSchema;
  analysis: TextAnalysis;
}

/** @returns hits, best first */
export async function searchIndex(searched: SearchedIndex, request: SearchRequest): Promise<SearchHit[]> {
  const { analysis, schema } = searched;
  const filter = filtersOf(request);
  return rankedSearch(
    {
      languages: languagesOf(schema.columns),
      dimensions: schema.dimensions,
      async byTerms(words, limit, withTexts) {
        const query = { bool: { must: [termsQuery(words)], filter } };
        const hits = await hitsOf(searched, query, limit, withTexts ? ['text'] : []);
        return hits.map((hit) => ({ ...searchHit(hit), text: hit._source?.text }));
      },
      byVector: (vector, limit) => byVector(searched, filter, vector, limit),
    },
    analysis,
    request,
  );
}

/** The terms are values of match queries, not query syntax, so a client's text cannot inject operators. */
function termsQuery(words: WordQuery): Query {
  if ('any' in words) return match(words.any, 'or', MAX_TERMS);
  const { all } = words;
  return anyOf(all.map((terms) => match(terms, 'and', Math.floor(MAX_TERMS / all.length))));
}

function match(terms: string, operator: 'and' | 'or', limit: number): Query {
  return { match: { text: { query: terms.split(' ').slice(0, limit).join(' '), operator } } };
}

async function byVector(
  searched: SearchedIndex,
  filter: readonly Query[],
  vector: Float32Array,
  limit: number,
): Promise<VectorHit[]> {
  const unit = roundedUnitVector(vector);
  if (!unit) return [];
  // The filter inside the query, so that a narrow filter still gets enough rows.
  const restricted = filter.length === 0 ? {} : { filter: { bool: { filter } } };
  const k = Math.min(limit * CANDIDATES, MAX_HITS);
  const query = { knn: { vector: { vector: unit, k, ...restricted } } };
  const hits = await hitsOf(searched, query, limit, ['vector_bytes']);
  return hits.map((hit) => ({
    ...searchHit(hit),
    // OpenSearch's scores are never negative: (1 + cosine) / 2.
    score: 2 * hit._score - 1,
    vector: vectorOf(hit._source!.vector_bytes!, vector.length),
  }));
}

async function hitsOf({ client, alias }: SearchedIndex, query: Query, size: number, fields: string[]): Promise<Hit[]> {
  const body = { query, size: Math.min(size, MAX_HITS), _source: fields.length > 0 && fields, track_total_hits: false };
  const response = await client.search({ index: alias, body }, TIMEOUT);
  return response.body.hits.hits as unknown as Hit[];
}

function searchHit({ _id, _score }: Hit): SearchHit {
  return { chunk_id: _id, score: _score };
}
