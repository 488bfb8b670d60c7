/**
 * Maps values with a bounded number of concurrent calls. The first failure aborts the other calls, and is thrown when they
 * have ended.
 * @param map its signal is aborted at the first failure
 * @returns results in the order of the values
 */
export async function mapConcurrently<Value, Result>(
  values: readonly Value[],
  concurrency: number,
  signal: AbortSignal,
  map: (value: Value, stop: AbortSignal, index: number) => Promise<Result>,
): Promise<Result[]> {
  const failure = new AbortController();
  const stop = AbortSignal.any([signal, failure.signal]);
  const results: Result[] = [];
  const remaining = values.entries();
  async function takeNext(): Promise<void> {
    for (const [index, value] of remaining) {
      stop.throwIfAborted();
      results[index] = await map(value, stop, index);
    }
  }
  const workers = Array.from({ length: Math.min(concurrency, values.length) }, () =>
    takeNext().catch((error: unknown) => failure.abort(error)),
  );
  await Promise.all(workers);
  signal.throwIfAborted();
  failure.signal.throwIfAborted();
  return results;
}
