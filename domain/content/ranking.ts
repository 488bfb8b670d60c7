/** Weight of the first ranks relative to later ones. 60 is the constant in the paper cited below. */
export const RECIPROCAL_RANK_CONSTANT = 60;

/**
 * Fuses rankings by reciprocal rank (Cormack, Clarke and Büttcher, SIGIR 2009): a key scores the sum of
 * `1 / (k + rank)` over the rankings that contain it, with ranks from 1. Scores are not used, because BM25 and cosine
 * similarity have no common scale.
 * @param rankings each best first; a key counts once per ranking, at its first position
 * @returns best first; equal scores keep the order of first appearance, so the result is deterministic
 */
export function fuseRankings<Key>(
  rankings: readonly (readonly Key[])[],
  k: number = RECIPROCAL_RANK_CONSTANT,
): { key: Key; score: number }[] {
  const scores = new Map<Key, number>();
  for (const ranking of rankings) {
    let rank = 0;
    for (const key of new Set(ranking)) {
      rank += 1;
      scores.set(key, (scores.get(key) ?? 0) + 1 / (k + rank));
    }
  }
  return [...scores].map(([key, score]) => ({ key, score })).sort((a, b) => b.score - a.score);
}

/** Maximum change of a source's weight by ratings, up or down. */
const RATING_INFLUENCE = 0.1;
/** Neutral ratings that are added to every source, so that a single rating has a sixth of the maximum effect. */
const PRIOR_RATINGS = 5;

/** Ratings of one source, each -1 to 1. */
export interface RatingTally {
  sum: number;
  count: number;
}

/**
 * The weight of a source by its ratings: 1 plus the mean with a prior, within ±`RATING_INFLUENCE`. With the worst ratings, a
 * chunk at rank r falls behind (60 + r) / 9 unrated chunks (six at the first rank), and never out of the ranking.
 */
export function ratingWeight({ sum, count }: RatingTally): number {
  return 1 + RATING_INFLUENCE * (sum / (count + PRIOR_RATINGS));
}

/** What affects a hit besides its rank. */
export interface Influence {
  /** Weight of the collection times weight by ratings. */
  weight: number;
  /** When the item was last changed, in milliseconds since 1970. */
  changed: number;
}

/**
 * Ranks hits again by weight and age. Ranks are weighted, not scores, so that a weight has the same effect in every query
 * mode: a hit at rank r scores `weight / (60 + r)`. With a recency bias b, this counts 1 - b, and the same formula with the
 * rank by age, newest first, counts b. Hits of equal age share a rank.
 * @param hits best first
 * @param recencyBias from 0 (age has no effect) to 1 (only age and weight have an effect)
 * @returns best first; equal scores keep their order
 */
export function rerank<Hit>(hits: readonly Hit[], influence: (hit: Hit) => Influence, recencyBias = 0): Hit[] {
  const influences = hits.map(influence);
  const byAge = [...new Set(influences.map(({ changed }) => changed))].sort((a, b) => b - a);
  const ageRanks = new Map(byAge.map((changed, at) => [changed, at + 1]));
  const scoreOf = (rank: number) => 1 / (RECIPROCAL_RANK_CONSTANT + rank);
  return hits
    .map((hit, at) => {
      const { weight, changed } = influences[at]!;
      return {
        hit,
        score: weight * ((1 - recencyBias) * scoreOf(at + 1) + recencyBias * scoreOf(ageRanks.get(changed)!)),
      };
    })
    .sort((a, b) => b.score - a.score)
    .map(({ hit }) => hit);
}
