/**
 * Groups texts of the same length into batches: no padding is computed, and the model needs no mask. Its memory grows with
 * texts times length, which is what the limit bounds.
 * @param maxTokens of a batch; a longer single text is a batch of its own
 * @returns the shortest texts first, so that a note does not wait for long documents
 */
export function batchByLength<T extends { ids: readonly number[] }>(texts: readonly T[], maxTokens: number): T[][] {
  const batches: T[][] = [];
  for (const text of [...texts].sort((a, b) => a.ids.length - b.ids.length)) {
    const batch = batches.at(-1);
    const length = text.ids.length;
    if (batch && batch[0]?.ids.length === length && length * (batch.length + 1) <= maxTokens) batch.push(text);
    else batches.push([text]);
  }
  return batches;
}
