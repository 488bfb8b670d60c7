/** A result is given again for this many times as long as it took to measure. */
const REST = 20;
const LONGEST_REST_MS = 30_000;

/**
 * Repeats a measurement only when it has rested, so that it never takes more than a twentieth of the time, however often and
 * by how many clients it is requested. Cheap measurements are as fresh as without it.
 * @param clock milliseconds
 * @returns a function that measures, or returns the last result for the same key
 */
export function adaptiveCache<Result>(clock: () => number = () => performance.now()) {
  const kept = new Map<string, { until: number; result: Promise<Result> }>();
  return (key: string, measure: () => Promise<Result>): Promise<Result> => {
    const started = clock();
    for (const [name, { until }] of kept) if (until <= started) kept.delete(name);
    const last = kept.get(key);
    if (last) return last.result;
    const entry = { until: Number.POSITIVE_INFINITY, result: measure() };
    kept.set(key, entry);
    entry.result.then(
      () => {
        const ended = clock();
        entry.until = ended + Math.min(LONGEST_REST_MS, REST * (ended - started));
      },
      () => kept.delete(key),
    );
    return entry.result;
  };
}
