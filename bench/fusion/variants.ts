import { FUSION, type Fusion, fuse, LIST_DEPTH, type VectorHit } from '../../domain/content/fusion.js';
import type { SearchHit } from '../../domain/content/search.js';

/** Hits of the deepest rankings that a variant fuses. */
export const DEEPEST = 2 * LIST_DEPTH;

/** The two rankings of a question. */
export interface Lists {
  query: string;
  vector: Float32Array;
  /** Best first; the scores are shares of the best BM25 score. */
  words: SearchHit[];
  /** Best first, by cosine similarity. */
  vectors: VectorHit[];
}

type Variant = (lists: Lists) => readonly SearchHit[];
type Scale = (hits: readonly SearchHit[]) => (score: number) => number;

/** The product's own fusion with other constants. @param settings of a question */
const product =
  (settings: (lists: Lists) => Partial<Fusion> = () => ({}), depth = LIST_DEPTH): Variant =>
  (lists) => {
    const { words, vectors, vector } = lists;
    return fuse(words.slice(0, depth), vectors.slice(0, depth), vector, { ...FUSION, ...settings(lists) });
  };

/** The sum of scaled scores; a hit that a ranking lacks counts 0 there. */
const sum =
  (textShare: number, text: Scale, cosines: Scale): Variant =>
  ({ words, vectors }) =>
    added([words.slice(0, LIST_DEPTH), text, textShare], [vectors.slice(0, LIST_DEPTH), cosines, 1 - textShare]);

const fromZero: Scale = (hits) => (score) => score / (hits[0]?.score || 1);
const fromMinimum =
  (leastSpread: (best: number) => number): Scale =>
  (hits) => {
    const best = hits[0]?.score ?? 0;
    const spread = Math.max(best - (hits.at(-1)?.score ?? 0), leastSpread(best));
    return (score) => 1 - (best - score) / spread;
  };
const standardised: Scale = (hits) => {
  const average = hits.reduce((total, { score }) => total + score, 0) / hits.length;
  const variance = hits.reduce((total, { score }) => total + (score - average) ** 2, 0) / hits.length;
  return (score) => (score - average) / Math.sqrt(variance || 1);
};
/** The usual fusion without scores (Cormack, Clarke and Büttcher, SIGIR 2009). */
const byRank: Scale = (hits) => {
  const placeOf = new Map(hits.map(({ score }, at) => [score, at]));
  return (score) => 1 / (60 + placeOf.get(score)! + 1);
};

/** A question in words, not a list of terms. */
const isQuestion =
  /^(what|who|whom|whose|which|when|where|why|how|is|are|was|were|do|does|did|has|have|can|could|should)\b|\?$/i;
/** How far the tenth hit is below the first, as a share of its score. */
const drop = (hits: readonly SearchHit[]) => 1 - (hits[9]?.score ?? 0) / (hits[0]?.score || 1);

export const VARIANTS: Record<string, Variant> = {
  text: ({ words }) => words.slice(0, LIST_DEPTH),
  vectors: ({ vectors }) => vectors.slice(0, LIST_DEPTH),
  hybrid: product(),
  'no feedback': product(() => ({ feedback: { hits: 0, weight: 0 } })),
  'feedback of 2 hits, weight 1': product(() => ({ feedback: { hits: 2, weight: 1 } })),
  'feedback of 5 hits, weight 0.15': product(() => ({ feedback: { hits: 5, weight: 0.15 } })),
  'text 0.25': product(() => ({ textShare: 0.25 })),
  'text 0.45': product(() => ({ textShare: 0.45 })),
  'text 0.3 for questions, 0.45 for terms': product(({ query }) => ({
    textShare: isQuestion.test(query) ? 0.3 : 0.45,
  })),
  'text by the spread of its scores': product(({ words }) => ({ textShare: 0.2 + 0.3 * drop(words) })),
  'cosines spread at least 0.1': product(() => ({ leastSpread: 0.1 })),
  'cosines spread at least 0.3': product(() => ({ leastSpread: 0.3 })),
  'lists of 25': product(undefined, 25),
  'lists of 100': product(undefined, 100),
  'from the minimum of each list': sum(
    0.35,
    fromMinimum((best) => 0.5 * best),
    fromMinimum(() => 0.1),
  ),
  'from zero, half and half': sum(0.5, fromZero, fromZero),
  'standardised, half and half': sum(0.5, standardised, standardised),
  'reciprocal rank': sum(0.5, byRank, byRank),
};

function added(...parts: [hits: readonly SearchHit[], scale: Scale, share: number][]): SearchHit[] {
  const fused = new Map<string, SearchHit>();
  for (const [hits, scaleOf, share] of parts) {
    const scale = scaleOf(hits);
    for (const hit of hits) {
      const before = fused.get(hit.chunk_id)?.score ?? 0;
      fused.set(hit.chunk_id, { ...hit, score: before + share * scale(hit.score) });
    }
  }
  return [...fused.values()].sort((a, b) => b.score - a.score);
}
