import type { SearchHit } from './search.js';

/** Hits of a ranking that is fused. Deeper rankings did not find more. */
export const LIST_DEPTH = 50;

/** How two rankings are fused. */
export interface Fusion {
  /** Share of the text ranking in a fused score; the vector ranking has the rest. */
  textShare: number;
  /** Least distance from the best cosine to one that counts as nothing: almost equal hits keep almost equal scores. */
  leastSpread: number;
  /** How far below the last cosine of the vector ranking a hit is taken to be that it lacks. */
  belowLast: number;
  /** First hits that the query's vector is moved towards, and by how much of their mean. */
  feedback: { hits: number; weight: number };
}

/** Chosen on ten test collections: docs/queries.md. `npm run bench -- fusion` measures others beside them. */
export const FUSION: Fusion = {
  textShare: 0.35,
  leastSpread: 0.2,
  belowLast: 0.02,
  feedback: { hits: 3, weight: 0.15 },
};

/** A hit of a vector search, with the vector of its chunk, of any length. */
export interface VectorHit extends SearchHit {
  vector: Vector;
}

type Vector = Float32Array | Int16Array;

/** Scores from 0 to 1. */
interface Scaled {
  hits: SearchHit[];
  /** The score of a hit that the ranking lacks. */
  lacking: number;
}

/** @returns the hits with shares of the best score instead of BM25. @param hits best first */
export function textRelevance(hits: readonly SearchHit[]): SearchHit[] {
  const best = Math.max(...finiteScores(hits), 0);
  return rescored(hits, 'text_score', (score) => (best > 0 ? Math.max(score, 0) / best : 1));
}

/** @returns the hits with scores from 0 to 1 instead of cosines. @param hits best first */
export function vectorRelevance(hits: readonly SearchHit[]): SearchHit[] {
  return scaledCosines(hits, FUSION).hits;
}

/**
 * Fuses a text and a vector ranking: the sum of both scores, each from 0 to 1. BM25 counts from zero, so a hit that the text
 * ranking lacks has 0. No cosine of a ranking is near zero, so cosines count from below the last one, and a hit that the vector
 * ranking lacks is taken to be a little below it. An empty ranking leaves the other one as it is. Then the cosines are computed
 * again from the query's vector moved towards those of the first hits (Rocchio, 1971), and fused again.
 * @param words best first, scored by BM25
 * @param vectors best first, scored by cosine similarity
 * @param query the query's vector, of unit length
 * @returns best first, with scores from 0 to 1; equal scores keep the order of first appearance
 */
export function fuse(
  words: readonly SearchHit[],
  vectors: readonly VectorHit[],
  query: Float32Array,
  fusion: Fusion = FUSION,
): SearchHit[] {
  const byText = textRelevance(words);
  if (vectors.length === 0) return byText;
  const { hits, weight } = fusion.feedback;
  const vectorOf = new Map(vectors.map((hit) => [hit.chunk_id, hit.vector]));
  const nearest = sum(byText, vectors, fusion)
    .flatMap(({ chunk_id }) => vectorOf.get(chunk_id) ?? [])
    .slice(0, hits);
  const moved = movedTowards(query, nearest, weight);
  const again = vectors.map((hit) => ({ ...hit, score: cosine(hit.vector, moved) }));
  return sum(
    byText,
    again.sort((a, b) => b.score - a.score),
    fusion,
  );
}

/** @param byText with scores from 0 to 1 @param vectors best first, scored by cosine similarity */
function sum(byText: readonly SearchHit[], vectors: readonly SearchHit[], fusion: Fusion): SearchHit[] {
  const byVector = scaledCosines(vectors, fusion);
  if (byText.length === 0) return byVector.hits;
  const { textShare } = fusion;
  const fused = new Map<string, SearchHit>(
    byText.map((hit) => [hit.chunk_id, { ...hit, vector_score: byVector.lacking }]),
  );
  for (const hit of byVector.hits) {
    const text_score = fused.get(hit.chunk_id)?.text_score ?? 0;
    fused.set(hit.chunk_id, { ...hit, text_score });
  }
  for (const hit of fused.values()) hit.score = textShare * hit.text_score! + (1 - textShare) * hit.vector_score!;
  return [...fused.values()].sort((a, b) => b.score - a.score);
}

/** The best cosine becomes 1. The one of a hit that the ranking lacks becomes 0 if it is at least the least spread lower. */
function scaledCosines(hits: readonly SearchHit[], { leastSpread, belowLast }: Fusion): Scaled {
  const cosines = finiteScores(hits);
  const best = Math.max(...cosines);
  const below = Math.min(...cosines) - belowLast;
  const spread = Math.max(best - below, leastSpread);
  const scale = (cosine: number) => 1 - (best - cosine) / spread;
  return { hits: rescored(hits, 'vector_score', scale), lacking: cosines.length === 0 ? 0 : scale(below) };
}

const finiteScores = (hits: readonly SearchHit[]) => hits.map(({ score }) => score).filter(Number.isFinite);

/** @returns the hits with new scores. Scores that are not numbers become 0 */
function rescored(
  hits: readonly SearchHit[],
  part: 'text_score' | 'vector_score',
  scale: (score: number) => number,
): SearchHit[] {
  return hits.map(({ chunk_id, source_id, collection, score: before }) => {
    const score = Number.isFinite(before) ? scale(before) : 0;
    return { chunk_id, source_id, collection, score, [part]: score };
  });
}

/** @returns the query plus the weighted mean of the vectors, each of length 1 */
function movedTowards(query: Float32Array, vectors: readonly Vector[], weight: number): Float32Array {
  const moved = query.slice();
  for (const vector of vectors) {
    const share = weight / vectors.length / (lengthOf(vector) || 1);
    for (let at = 0; at < moved.length; at += 1) moved[at]! += share * vector[at]!;
  }
  return moved;
}

function lengthOf(vector: Vector): number {
  let squares = 0;
  for (let at = 0; at < vector.length; at += 1) squares += vector[at]! ** 2;
  return Math.sqrt(squares);
}

function cosine(a: Vector, b: Float32Array): number {
  let [dot, lengthA, lengthB] = [0, 0, 0];
  for (let at = 0; at < a.length; at += 1) {
    dot += a[at]! * b[at]!;
    lengthA += a[at]! * a[at]!;
    lengthB += b[at]! * b[at]!;
  }
  return dot / Math.sqrt(lengthA * lengthB);
}
