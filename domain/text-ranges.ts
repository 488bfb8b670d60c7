/** A part of a text: its first UTF-16 code unit, and the one after its last. So `text.slice(start, end)` is the part. */
export type TextRange = [start: number, end: number];

/** @returns ranges of a text as ranges of a longer text, in which it starts at `by` */
export function moveRanges(ranges: readonly TextRange[], by: number): TextRange[] {
  return ranges.map(([start, end]) => [start + by, end + by]);
}
