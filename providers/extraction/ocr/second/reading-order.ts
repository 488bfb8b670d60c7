import type { Box } from '../picture.js';
import type { LinePlace } from './find-lines.js';

/** Lines of a column of prose are wider than this, in their heights; cells of a table are narrower. */
const PROSE = 15;
/** Distance between two lines from which the second begins a paragraph, as a multiple of the usual distance. */
const PARAGRAPH = 1.5;

/** The parts of one line, from left to right: a wide gap parts a line. */
export type Row = LinePlace[];

/** Puts lines into the order in which they are read, by paragraphs: columns of prose one after the other, and else row by row. */
export function inReadingOrder(places: readonly LinePlace[]): Row[][] {
  const blocks = cut(places).map(rowsOf);
  const heights = places.map(({ core }) => core.y1 - core.y0);
  return blocks.flatMap((rows) => paragraphsOf(rows, medianOf(heights)));
}

/** Cuts a page between its columns; where there are none, at its widest gap between rows, because a title may be above them. */
function cut(places: readonly LinePlace[]): LinePlace[][] {
  if (places.length < 2) return [[...places]];
  const columns = splitAtGap(places, 'x0', 'x1');
  if (columns?.every(isProse)) return columns.flatMap(cut);
  const parts = splitAtGap(places, 'y0', 'y1')?.map(cut);
  // Only a cut that has led to columns is one.
  return parts?.some((part) => part.length > 1) ? parts.flat() : [[...places]];
}

const isProse = (places: readonly LinePlace[]) =>
  places.length > 2 && medianOf(places.map(({ core }) => (core.x1 - core.x0) / (core.y1 - core.y0))) > PROSE;

/** @returns the places before and after the widest gap that goes through all of them; null without one */
function splitAtGap(
  places: readonly LinePlace[],
  start: 'x0' | 'y0',
  end: 'x1' | 'y1',
): [LinePlace[], LinePlace[]] | null {
  const sorted = places.toSorted((a, b) => a.core[start] - b.core[start]);
  let [widest, at, reached] = [0, 0, sorted[0]!.core[end]];
  for (const [index, { core }] of sorted.entries()) {
    if (core[start] - reached > widest) [widest, at] = [core[start] - reached, index];
    reached = Math.max(reached, core[end]);
  }
  return at === 0 ? null : [sorted.slice(0, at), sorted.slice(at)];
}

/** Places whose middles are in the same height are a row. */
function rowsOf(places: readonly LinePlace[]): Row[] {
  const rows: Row[] = [];
  for (const place of places.toSorted((a, b) => middle(a.core) - middle(b.core))) {
    const row = rows.at(-1);
    const isBeside = row && Math.abs(middle(place.core) - middle(row[0]!.core)) < (place.core.y1 - place.core.y0) / 2;
    if (isBeside) row.push(place);
    else rows.push([place]);
  }
  return rows.map((row) => row.sort((a, b) => a.core.x0 - b.core.x0));
}

const middle = ({ y0, y1 }: Box) => (y0 + y1) / 2;

/** @param height of letters, which lines are apart by twice at least */
function paragraphsOf(rows: readonly Row[], height: number): Row[][] {
  const distances = rows.slice(1).map((row, index) => middle(row[0]!.core) - middle(rows[index]![0]!.core));
  const usual = Math.max(medianOf(distances), 2 * height);
  const paragraphs: Row[][] = [];
  for (const [index, row] of rows.entries()) {
    if (index === 0 || distances[index - 1]! > usual * PARAGRAPH) paragraphs.push([row]);
    else paragraphs.at(-1)!.push(row);
  }
  return paragraphs;
}

const medianOf = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
