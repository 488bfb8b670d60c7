/** Maximum number of places by which ratings move a hit, up or down. */
const RATED_PLACES = 6;
/** Neutral ratings that are added to every source, so that a single rating has a sixth of the maximum effect: one place. */
const PRIOR_RATINGS = 5;

/** Ratings of one source, each -1 to 1. */
export interface RatingTally {
  sum: number;
  count: number;
}

/** @returns by how many places ratings move the hits of a source, from -6 (down) to 6 (up) */
export function ratedPlaces({ sum, count }: RatingTally): number {
  return RATED_PLACES * (sum / (count + PRIOR_RATINGS));
}

/** What affects a hit besides its relevance. */
export interface Influence {
  /** Weight of the collection. */
  weight: number;
  /** When the item was last changed, in milliseconds since 1970. */
  changed: number;
  /** Places up by ratings; negative for places down. */
  places: number;
}

/** What made the score of a ranked hit. */
export interface ScoreParts {
  /** Score of the search, from 0 to 1. */
  relevance: number;
  /** Weight of the collection, as a share of the greatest weight. */
  weight: number;
  /** Place by age among the hits, from 0 (oldest) to 1; null when age has no effect. */
  recency: number | null;
  /** Places up by ratings. */
  rating: number;
}

/**
 * Ranks hits again by weight, age and ratings. A hit first scores
 * `weight / greatest weight × ((1 - bias) × relevance + bias × freshness)`. Freshness is the place by age among the hits: 1 for
 * the newest, 0 for the oldest, in equal steps, so no time unit has to fit the documents; hits of equal age share a place. Then
 * a rated hit gets the score that is found so many places before or after its own, so ratings always have an effect, and never
 * a larger one. All scores stay within 0 and 1.
 * @param hits best first, with scores from 0 to 1
 * @param recencyBias from 0 (age has no effect) to 1 (relevance has no effect)
 * @returns best first, with the new scores and their parts; of equal scores the better rated is first, else they keep their order
 */
export function rerank<Hit extends { score: number }>(
  hits: readonly Hit[],
  influence: (hit: Hit) => Influence,
  recencyBias = 0,
): (Hit & { parts: ScoreParts })[] {
  const influences = hits.map(influence);
  const freshness = freshnessOf(influences.map(({ changed }) => changed));
  const greatest = Math.max(...influences.map(({ weight }) => weight));
  const weighted = hits
    .map((hit, at) => {
      const { weight, changed, places } = influences[at]!;
      const recency = freshness.get(changed)!;
      const parts: ScoreParts = {
        relevance: hit.score,
        weight: weight / greatest,
        recency: recencyBias > 0 ? recency : null,
        rating: places,
      };
      const score = parts.weight * ((1 - recencyBias) * hit.score + recencyBias * recency);
      return { hit: { ...hit, parts, score }, places };
    })
    .sort((a, b) => b.hit.score - a.hit.score);
  const scores = weighted.map(({ hit }) => hit.score);
  return weighted
    .map(({ hit, places }, at) => ({
      hit: places === 0 ? hit : { ...hit, score: scoreAt(scores, at - places) },
      places,
    }))
    .sort((a, b) => b.hit.score - a.hit.score || b.places - a.places)
    .map(({ hit }) => hit);
}

/** @returns freshness by time of change: 1 for the newest, 0 for the oldest, and 1 when all are equally old */
function freshnessOf(times: readonly number[]): Map<number, number> {
  const newestFirst = [...new Set(times)].sort((a, b) => b - a);
  const steps = Math.max(newestFirst.length - 1, 1);
  return new Map(newestFirst.map((time, at) => [time, 1 - at / steps]));
}

/** @returns the score at a place between two others, in proportion; the first or last score beyond the ends */
function scoreAt(scores: readonly number[], place: number): number {
  const within = Math.min(Math.max(place, 0), scores.length - 1);
  const before = scores[Math.floor(within)]!;
  const after = scores[Math.ceil(within)]!;
  return before + (after - before) * (within % 1);
}
