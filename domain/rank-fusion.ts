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
