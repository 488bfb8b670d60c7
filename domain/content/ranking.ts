/** How much the first ranks weigh against the following; 60 is the constant of the paper the method comes from. */
export const RECIPROCAL_RANK_CONSTANT = 60;

/**
 * Fuses rankings by reciprocal rank (Cormack, Clarke and Büttcher, SIGIR 2009): a key scores the sum of
 * `1 / (k + rank)` over the rankings that hold it, ranks from 1. Ranks and not scores, because BM25 and cosine
 * similarity have no common scale.
 * @param rankings each best first; a key counts once a ranking, at its first place
 * @returns best first; equal scores keep the order of first appearance, so the answer is deterministic
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

/** How far ratings move a source: the best ones weigh this much more than none, the worst this much less. */
const RATING_INFLUENCE = 0.1;
/** Neutral ratings that every source is thought to have: one angry client moves it a sixth of the way, not all of it. */
const PRIOR_RATINGS = 5;

/** Ratings of one source, each -1 to 1. */
export interface RatingTally {
  sum: number;
  count: number;
}

/**
 * What ratings make of a source's weight: their mean with a prior, within ±`RATING_INFLUENCE`. At the worst a chunk in
 * place r lets (60 + r) / 9 unrated ones pass, six from the first place, and it never leaves the ranking.
 */
export function ratingWeight({ sum, count }: RatingTally): number {
  return 1 + RATING_INFLUENCE * (sum / (count + PRIOR_RATINGS));
}

/** What moves a hit beside its place. */
export interface Influence {
  /** Of its collection, times what ratings make of it. */
  weight: number;
  /** When its item was last changed; milliseconds since 1970. */
  changed: number;
}

/**
 * Ranks hits anew. Places are what is weighed, not scores, so that the same weight moves as far in every kind of search:
 * a hit in place r counts `weight / (60 + r)`; with a recency bias b, r's part of that is 1 - b, and the place among the
 * same hits ordered by their age, newest first, has part b (hits of one moment share a place).
 * @param hits best first
 * @param recencyBias 0: age does not count; 1: nothing else does
 * @returns best first; equals keep their order
 */
export function rerank<Hit>(hits: readonly Hit[], influence: (hit: Hit) => Influence, recencyBias = 0): Hit[] {
  const influences = hits.map(influence);
  const byAge = [...new Set(influences.map(({ changed }) => changed))].sort((a, b) => b - a);
  const agePlaces = new Map(byAge.map((changed, at) => [changed, at + 1]));
  const worth = (place: number) => 1 / (RECIPROCAL_RANK_CONSTANT + place);
  return hits
    .map((hit, at) => {
      const { weight, changed } = influences[at]!;
      return {
        hit,
        score: weight * ((1 - recencyBias) * worth(at + 1) + recencyBias * worth(agePlaces.get(changed)!)),
      };
    })
    .sort((a, b) => b.score - a.score)
    .map(({ hit }) => hit);
}
