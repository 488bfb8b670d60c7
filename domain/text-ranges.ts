/** A part of a text: its first UTF-16 code unit, and the one after its last. So `text.slice(start, end)` is the part. */
export type TextRange = [start: number, end: number];

/** @returns ranges of a text as ranges of a longer text, in which it starts at `by` */
export function moveRanges(ranges: readonly TextRange[], by: number): TextRange[] {
  return ranges.map(([start, end]) => [start + by, end + by]);
}

/** Adds a range after others, or joins it to the last if they meet. An empty range is not added. */
export function addRange(ranges: TextRange[], [start, end]: TextRange): void {
  const last = ranges.at(-1);
  if (last && start <= last[1]) last[1] = Math.max(last[1], end);
  else if (end > start) ranges.push([start, end]);
}

/** @returns what ranges have before `end` */
export function cutRanges(ranges: readonly TextRange[], end: number): TextRange[] {
  return ranges.flatMap(([from, to]): TextRange[] => (from < end ? [[from, Math.min(to, end)]] : []));
}
