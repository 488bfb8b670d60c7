/** Calls `work` with 0 to count-1, at most `concurrency` calls at a time. */
export async function runConcurrently(
  count: number,
  concurrency: number,
  work: (n: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: Math.min(concurrency, count) }, async () => {
      while (next < count) await work(next++);
    }),
  );
}

/** @returns how long the work takes, in milliseconds */
export async function durationMs(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** @param count the number of things that the work does @returns things per second */
export async function perSecond(count: number, work: () => Promise<unknown>): Promise<number> {
  return count / ((await durationMs(work)) / 1000);
}

/** @param share 0.5 for the median, 0.99 for the 99th percentile */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Normalised discounted cumulative gain with binary relevance: 1 when the relevant documents come first.
 * @param ranked document ids, best first, without repetitions
 * @param depth how many of them count
 * @returns 0..1; 0 for a query without relevant documents
 */
export function normalisedGain(ranked: readonly string[], relevant: ReadonlySet<string>, depth = 10): number {
  let gain = 0;
  for (const [rank, id] of ranked.slice(0, depth).entries()) if (relevant.has(id)) gain += discount(rank);
  let ideal = 0;
  for (let rank = 0; rank < Math.min(depth, relevant.size); rank += 1) ideal += discount(rank);
  return ideal === 0 ? 0 : gain / ideal;
}

/** @param rank place in the ranking, from 0 */
function discount(rank: number): number {
  return 1 / Math.log2(rank + 2);
}
