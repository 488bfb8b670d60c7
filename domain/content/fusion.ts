import type { SearchHit } from './search.js';
import { vectorLength } from './vector-length.js';

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

/** @returns the hits with shares of the best score instead of BM25. Scores that are not numbers become 0. @param hits best first */
export function textRelevance(hits: readonly SearchHit[]): SearchHit[] {
  const best = Math.max(...hits.map(({ score }) => score).filter(Number.isFinite), 0);
  return hits.map(({ chunk_id, score: bm25 }) => {
    const score = !Number.isFinite(bm25) ? 0 : best > 0 ? Math.max(bm25, 0) / best : 1;
    return { chunk_id, score, text_score: score };
  });
}

/** @returns the hits with scores from 0 to 1 instead of cosines. @param hits best first */
export function vectorRelevance(hits: readonly SearchHit[]): SearchHit[] {
  const rows = hits.map(({ chunk_id, score }) => ({ chunk_id, text: 0, cosine: score }));
  return scored(rows, false, FUSION).map(({ row: { chunk_id }, score, vector_score }) => ({
    chunk_id,
    score,
    vector_score,
  }));
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
  const rows = new Map<string, Row>(byText.map(({ chunk_id, score }) => [chunk_id, { chunk_id, text: score }]));
  for (const { chunk_id, score, vector } of vectors) {
    rows.set(chunk_id, { chunk_id, text: rows.get(chunk_id)?.text ?? 0, vector, cosine: score });
  }
  const all = [...rows.values()];
  const hasText = byText.length > 0;
  const nearest = scored(all, hasText, fusion).flatMap(({ row }) => row.vector ?? []);
  const moved = movedTowards(query, nearest.slice(0, hits), weight);
  for (const row of all) if (row.vector) row.cosine = cosine(row.vector, moved);
  return scored(all, hasText, fusion).map(({ row: { chunk_id, text }, score, vector_score }) => ({
    chunk_id,
    score,
    ...(hasText ? { text_score: text } : {}),
    vector_score,
  }));
}

/** A hit of one or both rankings. */
interface Row {
  chunk_id: string;
  /** The score by text, from 0 to 1; 0 when the ranking by text lacks it. */
  text: number;
  /** Absent when the ranking by vectors lacks it, as its cosine. */
  vector?: Vector;
  cosine?: number;
}

/** @returns the rows with their scores, best first; equal scores keep their order. @param hasText else only the cosines count */
function scored(rows: readonly Row[], hasText: boolean, fusion: Fusion) {
  const cosines = rows.flatMap(({ cosine }) => (Number.isFinite(cosine) ? [cosine!] : []));
  const { scale, lacking } = scaleOf(cosines, fusion);
  const textShare = hasText ? fusion.textShare : 0;
  return rows
    .map((row) => {
      const { text, cosine } = row;
      const vector_score = cosine === undefined ? lacking : Number.isFinite(cosine) ? scale(cosine) : 0;
      return { row, vector_score, score: textShare * text + (1 - textShare) * vector_score };
    })
    .sort((a, b) => b.score - a.score);
}

/**
 * @returns a function that makes the best cosine 1, and the one that a hit is taken to have that the ranking lacks 0 if it is at
 * least the least spread lower; and the score of such a hit
 */
function scaleOf(cosines: readonly number[], { leastSpread, belowLast }: Fusion) {
  const best = Math.max(...cosines);
  const below = Math.min(...cosines) - belowLast;
  const spread = Math.max(best - below, leastSpread);
  const scale = (cosine: number) => 1 - (best - cosine) / spread;
  return { scale, lacking: cosines.length === 0 ? 0 : scale(below) };
}

/** @returns the query plus the weighted mean of the vectors, each of length 1 */
function movedTowards(query: Float32Array, vectors: readonly Vector[], weight: number): Float32Array {
  const moved = query.slice();
  for (const vector of vectors) {
    const share = weight / vectors.length / (vectorLength(vector) || 1);
    for (let at = 0; at < moved.length; at += 1) moved[at]! += share * vector[at]!;
  }
  return moved;
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
