/**
 * Does pieces of work side by side, so many at a time. The first that fails ends the others, and is thrown when they have ended.
 * @returns results in the order of the pieces
 */
export async function inLanes<Piece, Result>(
  pieces: readonly Piece[],
  lanes: number,
  signal: AbortSignal,
  work: (piece: Piece, ending: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const failure = new AbortController();
  const ending = AbortSignal.any([signal, failure.signal]);
  const results: Result[] = [];
  const waiting = pieces.entries();
  async function lane(): Promise<void> {
    for (const [index, piece] of waiting) {
      ending.throwIfAborted();
      results[index] = await work(piece, ending);
    }
  }
  const ended = Array.from({ length: Math.min(lanes, pieces.length) }, () =>
    lane().catch((error: unknown) => failure.abort(error)),
  );
  await Promise.all(ended);
  signal.throwIfAborted();
  failure.signal.throwIfAborted();
  return results;
}
