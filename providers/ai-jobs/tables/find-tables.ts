import type { OcrTable } from '../../../domain/ai-jobs/features.js';
import { type Line, linesOf, type Segment, type Word } from './lines.js';

/** The picture of a page, in pixels. */
export interface PagePicture {
  page: number;
  width: number;
  height: number;
}

type Row = OcrTable['rows'][number];

/** Lines further apart than this many heights of a word belong to different tables. */
const MAX_LINE_GAP = 5;
/** Columns with at least this many words in the usual cell are running text, not a table. */
const RUNNING_TEXT_WORDS = 5;

/**
 * Finds the tables of a page: successive lines of words that leave the same gaps free, which separate the columns. Lines
 * that are drawn around the cells are not needed and not used.
 * @param words in any order
 */
export function findTables(words: readonly Word[], picture: PagePicture): OcrTable[] {
  const { lines, height } = linesOf(words);
  return blocksOf(lines, height).flatMap((block) => {
    const table = tableOf(block, height, picture);
    return table ? [table] : [];
  });
}

/** Successive lines with several segments. A line with a single segment may be between two of them. */
function blocksOf(lines: readonly Line[], height: number): Line[][] {
  const blocks: Line[][] = [];
  let block: Line[] = [];
  const end = () => {
    while (block.at(-1)?.segments.length === 1) block.pop();
    if (block.length > 1) blocks.push(block);
    block = [];
  };
  for (const line of lines) {
    const previous = block.at(-1);
    const far = previous !== undefined && line.y - previous.y > MAX_LINE_GAP * height;
    const alone = line.segments.length === 1;
    if (far || (alone && previous?.segments.length === 1)) end();
    if (!alone || block.length > 0) block.push(line);
  }
  end();
  return blocks;
}

function tableOf(block: readonly Line[], height: number, { page, ...size }: PagePicture): OcrTable | null {
  const columns = findColumns(block, height);
  if (columns.length < 2 || isRunningText(block, columns)) return null;
  const rows = block.map((line) => ({ cells: cellsOf(line, columns, size) }));
  return {
    page,
    box: boxOf(block.flatMap(({ segments }) => segments), size), // biome-ignore format: one line
    number_of_rows: rows.length,
    number_of_columns: columns.length,
    rows,
  };
}

function cellsOf({ segments }: Line, columns: readonly Column[], size: Size): Row['cells'] {
  const contents: Segment[][] = columns.map(() => []);
  for (const segment of segments) contents[columnIndex(columns, segment)]!.push(segment);
  return contents.map((content) => {
    if (content.length === 0) return { text: '', confidence: 0, box: null };
    const words = content.flatMap((segment) => segment.words);
    const confidence = words.reduce((sum, word) => sum + word.confidence, 0) / words.length;
    return {
      text: words.map(({ text }) => text).join(' '),
      confidence: round(confidence / 100),
      box: boxOf(content, size),
    };
  });
}

/** Text in two columns also leaves a gap free, but its cells are long. */
function isRunningText(block: readonly Line[], columns: readonly Column[]): boolean {
  return columns.every((_, column) => {
    const counts = block
      .flatMap(({ segments }) => segments.filter((segment) => columnIndex(columns, segment) === column))
      .map(({ words }) => words.length)
      .sort((a, b) => a - b);
    return (counts[counts.length >> 1] ?? 0) >= RUNNING_TEXT_WORDS;
  });
}

type Size = Pick<PagePicture, 'width' | 'height'>;

/** As fractions of the page. */
function boxOf(segments: readonly Segment[], { width, height }: Size): OcrTable['box'] {
  const left = Math.min(...segments.map(({ x0 }) => x0));
  const top = Math.min(...segments.map(({ y0 }) => y0));
  const right = Math.max(...segments.map(({ x1 }) => x1));
  const bottom = Math.max(...segments.map(({ y1 }) => y1));
  const share = (pixels: number, total: number) => round(Math.min(1, Math.max(0, pixels / total)));
  return {
    left: share(left, width),
    top: share(top, height),
    width: share(right - left, width),
    height: share(bottom - top, height),
  };
}

const round = (value: number) => Math.round(value * 10_000) / 10_000;

/** A column of a table, in pixels. */
interface Column {
  x0: number;
  x1: number;
}

/** A gap between columns is at least this wide, in heights of a word. */
const MIN_GAP = 0.8;
/** Share of the lines that may have words in a gap: headings across several columns, and errors of recognition. */
const MAX_CROSSING = 0.15;

/** Finds the columns of successive lines: what is between the gaps that (nearly) all lines leave free. */
function findColumns(lines: readonly Line[], height: number): Column[] {
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
function columnIndex(columns: readonly Column[], { x0, x1 }: Segment): number {
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
