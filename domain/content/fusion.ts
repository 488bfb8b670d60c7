import type { SearchHit } from './search.js';

/** Hits of a ranking that is fused. Deeper rankings did not find more, and their scores are spread more thinly. */
export const LIST_DEPTH = 50;
/** Share of the text ranking in a fused score; the vector ranking has the rest. */
const TEXT_SHARE = 0.35;
/** First hits that the query's vector is moved towards, and by how much of their mean. */
const FEEDBACK = { hits: 2, weight: 1 };
/**
 * Least distance between the best score and a score that counts as nothing. Without it, the last of two almost equal hits
 * would count as nothing. BM25 has no fixed scale: a share of the best score. Cosines: unrelated texts differ by 0.1 to 0.3.
 */
const LEAST_SPREAD = { text: 0.5, vector: 0.1 };

/** A hit of a vector search, with the vector of its chunk. */
export interface VectorHit extends SearchHit {
  vector: Float32Array;
}

/** @returns the hits with scores from 0 to 1 instead of BM25. @param hits best first */
export function textRelevance(hits: readonly SearchHit[]): SearchHit[] {
  return scaled(hits, LEAST_SPREAD.text * Math.abs(hits[0]?.score ?? 0)).map((hit) => ({
    ...hit,
    text_score: hit.score,
  }));
}

/** @returns the hits with scores from 0 to 1 instead of cosines. @param hits best first */
export function vectorRelevance(hits: readonly SearchHit[]): SearchHit[] {
  return scaled(hits, LEAST_SPREAD.vector).map((hit) => ({ ...hit, vector_score: hit.score }));
}

/**
 * Fuses a text and a vector ranking: the sum of both scores, each scaled to 0 to 1 within its ranking. A hit that a ranking
 * lacks counts 0 there; an empty ranking leaves the other one as it is. Then the cosines are computed again from the query's
 * vector moved towards those of the first hits (Rocchio, 1971), and fused again. `npm run bench -- fusion` measures both.
 * @param words best first, scored by BM25
 * @param vectors best first, scored by cosine similarity
 * @param query the query's vector, of unit length
 * @returns best first, with scores from 0 to 1; equal scores keep the order of first appearance
 */
export function fuse(words: readonly SearchHit[], vectors: readonly VectorHit[], query: Float32Array): SearchHit[] {
  if (vectors.length === 0) return textRelevance(words);
  const byText = textRelevance(words);
  const first = sum(byText, vectors);
  const byId = new Map(vectors.map((hit) => [hit.chunk_id, hit.vector]));
  const nearest: Float32Array[] = [];
  for (const { chunk_id } of first) {
    const vector = byId.get(chunk_id);
    if (vector) nearest.push(vector);
    if (nearest.length === FEEDBACK.hits) break;
  }
  const moved = movedTowards(query, nearest);
  return sum(
    byText,
    vectors.map((hit) => ({ ...hit, score: cosine(hit.vector, moved) })).sort((a, b) => b.score - a.score),
  );
}

/** @param byText with scores from 0 to 1 @param vectors scored by cosine similarity */
function sum(byText: readonly SearchHit[], vectors: readonly SearchHit[]): SearchHit[] {
  const byVector = vectorRelevance(vectors);
  if (byText.length === 0) return byVector;
  const fused = new Map<string, SearchHit>();
  for (const hit of byText) fused.set(hit.chunk_id, { ...hit, score: TEXT_SHARE * hit.score });
  for (const hit of byVector) {
    const score = (1 - TEXT_SHARE) * hit.score;
    const before = fused.get(hit.chunk_id);
    if (before) {
      before.score += score;
      before.vector_score = hit.vector_score!;
    } else fused.set(hit.chunk_id, { ...hit, score });
  }
  return [...fused.values()].sort((a, b) => b.score - a.score);
}

/** The best score becomes 1, and the last becomes 0 if it is at least `leastSpread` lower. Scores that are not numbers become 0. */
function scaled(hits: readonly SearchHit[], leastSpread: number): SearchHit[] {
  const scores = hits.map(({ score }) => score).filter(Number.isFinite);
  const best = Math.max(...scores);
  const spread = Math.max(best - Math.min(...scores), leastSpread);
  return hits.map(({ chunk_id, source_id, collection, score }) => {
    const scaledScore = spread > 0 ? 1 - (best - score) / spread : 1;
    return { chunk_id, source_id, collection, score: Number.isFinite(score) ? scaledScore : 0 };
  });
}

/** @returns the query plus the weighted mean of the vectors */
function movedTowards(query: Float32Array, vectors: readonly Float32Array[]): Float32Array {
  return query.map(
    (value, at) =>
      value +
      (FEEDBACK.weight * vectors.reduce((total, vector) => total + vector[at]!, 0)) / Math.max(vectors.length, 1),
  );
}

function cosine(a: Float32Array, b: Float32Array): number {
  let [dot, lengthA, lengthB] = [0, 0, 0];
  for (let at = 0; at < a.length; at += 1) {
    dot += a[at]! * b[at]!;
    lengthA += a[at]! * a[at]!;
    lengthB += b[at]! * b[at]!;
  }
  return dot / Math.sqrt(lengthA * lengthB);
}
