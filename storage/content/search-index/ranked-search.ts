import { fuse, LIST_DEPTH, textRelevance, type VectorHit, vectorRelevance } from '../../../domain/content/fusion.js';
import type { TextLanguage } from '../../../domain/content/languages.js';
import type { SearchHit, SearchRequest } from '../../../domain/content/search.js';
import { type AnalysedQuery, containsPhrase, type TextAnalysis } from './analysis.js';
import { dimensionsDiffer } from './vectors.js';

/** Candidates with all words that are checked for a phrase; the second number is used when the first gives too few hits. */
const PHRASE_DEPTHS = [200, 2_000];
/** Chunks with the phrase that are enough: no response shows more. */
const PHRASE_ENOUGH = 60;

/** The terms to find. A chunk needs one of `any`, or all terms of one of the texts in `all`. */
export type WordQuery = Pick<AnalysedQuery, 'any'> | Pick<AnalysedQuery, 'all'>;

/** A hit of a word search, on request with the analysed text of its chunk. */
export interface TextHit extends SearchHit {
  text?: string | undefined;
}

/** What an engine finds in one table, with the restrictions of one request. Every ranking contains only rows that match. */
export interface TableSearch {
  /** The languages of the table's texts. */
  languages: readonly TextLanguage[];
  /** Dimensions of the table's vectors; null when it has none. */
  dimensions: number | null;
  /** @returns hits by BM25 */
  byTerms(words: WordQuery, limit: number, withTexts?: boolean): Promise<TextHit[]>;
  /** @returns hits by cosine similarity. @param vector as the table has them */
  byVector(vector: Float32Array, limit: number): Promise<VectorHit[]>;
}

/**
 * Searches one table. Rows without a vector are in no vector ranking; a text search without words finds nothing.
 * @returns hits, best first
 */
export async function rankedSearch(
  table: TableSearch,
  analysis: TextAnalysis,
  request: SearchRequest,
): Promise<SearchHit[]> {
  const { limit, vector } = request;
  if (limit <= 0) return [];
  // Scores are scaled within a ranking, so a small limit must not shorten it.
  const depth = Math.max(limit, LIST_DEPTH);
  const byVector = async () => {
    if (!vector || table.dimensions === null) return [];
    if (table.dimensions !== vector.length) throw dimensionsDiffer(table.dimensions, vector.length);
    return table.byVector(vector, depth);
  };
  switch (request.mode) {
    case 'text':
      return textRelevance(await byWords(table, analysis, request, depth)).slice(0, limit);
    case 'vector':
      return vectorRelevance(await byVector()).slice(0, limit);
    case 'hybrid': {
      const [words, vectors] = await Promise.all([byWords(table, analysis, request, depth), byVector()]);
      return (vector ? fuse(words, vectors, vector) : textRelevance(words)).slice(0, limit);
    }
  }
}

async function byWords(
  table: TableSearch,
  analysis: TextAnalysis,
  { query, operator }: SearchRequest,
  limit: number,
): Promise<SearchHit[]> {
  const analysed = await analysis.analyseQuery(query, table.languages);
  const { any, all } = analysed;
  if (operator === 'or') return any === '' ? [] : table.byTerms({ any }, limit);
  if (all.length === 0) return [];
  return operator === 'and' ? table.byTerms({ all }, limit) : byPhrase(table, analysed, limit);
}

/** Finds chunks with all words of the phrase, and keeps those that have the words next to each other and in order. */
async function byPhrase(table: TableSearch, query: AnalysedQuery, limit: number): Promise<SearchHit[]> {
  let found: TextHit[] = [];
  for (const depth of PHRASE_DEPTHS) {
    const candidates = await table.byTerms({ all: query.all }, depth, true);
    found = candidates.filter(({ text = '' }) => containsPhrase(text, query));
    if (found.length >= Math.min(limit, PHRASE_ENOUGH) || candidates.length < depth) break;
  }
  return found.slice(0, limit);
}
