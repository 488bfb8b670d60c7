import type { Line, Segment } from './lines.js';

/** A column of a table, in pixels. */
export interface Column {
  x0: number;
  x1: number;
}

/** A gap between columns is at least this wide, in heights of a word. */
const MIN_GAP = 0.8;
/** Share of the lines that may have words in a gap: headings across several columns, and errors of recognition. */
const MAX_CROSSING = 0.15;

/** Finds the columns of successive lines: what is between the gaps that (nearly) all lines leave free. */
export function findColumns(lines: readonly Line[], height: number): Column[] {
  const segments = lines.flatMap((line) => line.segments);
  const crossing = Math.floor(lines.length * MAX_CROSSING);
  const columns: Column[] = [];
  let current: Column | undefined;
  for (const { x0, x1, count } of coverage(segments)) {
    if (count <= crossing) continue;
    if (current && x0 - current.x1 < MIN_GAP * height) current.x1 = x1;
    else {
      current = { x0, x1 };
      columns.push(current);
    }
  }
  return columns;
}

/** The index of the column that a segment is in: the one that it shares most with, else the nearest. */
export function columnIndex(columns: readonly Column[], { x0, x1 }: Segment): number {
  const shared = columns.map((column) => Math.min(column.x1, x1) - Math.max(column.x0, x0));
  return shared.indexOf(Math.max(...shared));
}

/** From left to right: the stretches in which the number of segments does not change. */
function coverage(segments: readonly Segment[]): { x0: number; x1: number; count: number }[] {
  const changes = segments
    .flatMap(({ x0, x1 }) => [
      { x: x0, by: 1 },
      { x: x1, by: -1 },
    ])
    .sort((a, b) => a.x - b.x);
  const stretches: { x0: number; x1: number; count: number }[] = [];
  let count = 0;
  for (const [n, { x, by }] of changes.entries()) {
    count += by;
    const next = changes[n + 1];
    if (next && next.x > x && count > 0) stretches.push({ x0: x, x1: next.x, count });
  }
  return stretches;
}
