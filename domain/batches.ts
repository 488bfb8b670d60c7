/**
 * Divides a list into batches that keep within a number of values and a total size. A larger single value is a batch of its
 * own.
 */
export function* inBatches<T>(
  values: readonly T[],
  {
    count,
    size = Number.POSITIVE_INFINITY,
    sizeOf = () => 0,
  }: { count: number; size?: number; sizeOf?: (value: T) => number },
): Generator<T[]> {
  let batch: T[] = [];
  let total = 0;
  for (const value of values) {
    if (batch.length > 0 && (batch.length === count || total + sizeOf(value) > size)) {
      yield batch;
      batch = [];
      total = 0;
    }
    batch.push(value);
    total += sizeOf(value);
  }
  if (batch.length > 0) yield batch;
}
