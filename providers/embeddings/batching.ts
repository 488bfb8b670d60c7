/**
 * Groups texts of like length into batches. A batch is padded to its longest text, so mixing lengths wastes time, and
 * the model's memory grows with texts times length: that product is what is bounded.
 * @param tokens how many tokens a batch may have with its padding; a longer single text is a batch of its own
 * @returns the longest first, so that the thread asks for its most memory at once
 */
export function batchByLength<T extends { ids: readonly number[] }>(texts: readonly T[], tokens: number): T[][] {
  const batches: T[][] = [];
  let batch: T[] = [];
  for (const text of [...texts].sort((a, b) => b.ids.length - a.ids.length)) {
    const longest = (batch[0] ?? text).ids.length;
    if (batch.length > 0 && longest * (batch.length + 1) > tokens) {
      batches.push(batch);
      batch = [];
    }
    batch.push(text);
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}
