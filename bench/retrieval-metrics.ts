/**
 * Normalised discounted cumulative gain with binary relevance: 1 when the relevant documents come first.
 * @param ranked document ids, best first, without repetitions
 * @param depth how many of them count
 * @returns 0..1; 0 for a query without relevant documents
 */
export function normalisedGain(ranked: readonly string[], relevant: ReadonlySet<string>, depth = 10): number {
  let gain = 0;
  for (const [at, id] of ranked.slice(0, depth).entries()) if (relevant.has(id)) gain += discount(at);
  let best = 0;
  for (let at = 0; at < Math.min(depth, relevant.size); at += 1) best += discount(at);
  return best === 0 ? 0 : gain / best;
}

/** @param at place in the ranking, from 0 */
function discount(at: number): number {
  return 1 / Math.log2(at + 2);
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
