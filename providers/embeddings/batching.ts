/**
 * Groups texts of similar length into batches. A batch is padded to its longest text, so mixed lengths waste time, and the
 * memory of the model grows with texts times length, which is what the limit bounds.
 * @param maxTokens of a batch with its padding; a longer single text is a batch of its own
 * @returns the shortest texts first, so that a note does not wait for long documents
 */
export function batchByLength<T extends { ids: readonly number[] }>(texts: readonly T[], maxTokens: number): T[][] {
  const batches: T[][] = [];
  let batch: T[] = [];
  for (const text of [...texts].sort((a, b) => b.ids.length - a.ids.length)) {
    const longest = (batch[0] ?? text).ids.length;
    if (batch.length > 0 && longest * (batch.length + 1) > maxTokens) {
      batches.push(batch);
      batch = [];
    }
    batch.push(text);
  }
  if (batch.length > 0) batches.push(batch);
  return batches.reverse();
}
