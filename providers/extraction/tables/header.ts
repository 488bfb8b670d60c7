import { countWords } from '../../../domain/content/chunking.js';
import { type Block, type Grid, isWord, type Span } from './layout.js';

export interface Header {
  /** Rows of the block above the header, such as its title or a note. */
  above: number;
  /** Rows of the header: two when groups of columns have names. */
  depth: number;
  /** The name of each column, '' when it has none. */
  names: string[];
}

/** Only the first rows of a block can be a header. */
const CANDIDATE_ROWS = 10;
/** The name of a group of columns has at most this many words. A longer text over many columns is a title or a remark. */
const GROUP_WORDS = 12;
/** Rows that decide what kind of values a column has. */
const SAMPLE_ROWS = 50;

/** Finds a block's header: the row that the document marks, or the first of about the full width if all its cells are words, or words and years. */
export function findHeader(
  block: Block,
  { spans = [], header: marked }: Pick<Grid, 'spans' | 'header'>,
): Header | null {
  const { rows } = block;
  if (marked === null) return null;
  const above = marked === undefined ? -1 : marked - block.top;
  if (above >= 0 && above < rows.length - 1) return { above, depth: 1, names: rows[above]! };
  return guessHeader(block, spans);
}

function guessHeader(block: Block, spans: readonly Span[]): Header | null {
  const { rows } = block;
  const width = Math.max(...rows.slice(0, SAMPLE_ROWS).map(filledCells));
  if (width < 2) return null;
  const spread = rows.slice(0, CANDIDATE_ROWS).map((_, row) => spreadMerged(block, row, spans));
  const above = spread.findIndex((row) => filledCells(row) >= Math.max(2, width * 0.6));
  if (above === -1 || above === rows.length - 1 || !isHeader(spread[above]!)) return null;
  const names = spread[above]!;
  const below = spread[above + 1];
  const grouped = below && above + 2 < rows.length && hasGroups(block, above, spans) && isHeader(below);
  if (!grouped) return { above, depth: 1, names };
  // "2024" above "Spring" is "2024 Spring". A name merged over both rows appears once.
  const joined = names.map((name, column) => [...new Set([name, below[column] ?? ''])].filter(Boolean).join(' '));
  return { above, depth: 2, names: joined };
}

/** Whether a block continues the table above it: its first row has the same kind of value in each column. */
export function continues(block: Block, table: Block & { header: Header }): boolean {
  const [first] = block.rows;
  if (block.gap > 1 || block.left < table.left || filledCells(first!) < 2) return false;
  const shift = block.left - table.left;
  const from = table.header.above + table.header.depth;
  const below = table.rows.slice(from, from + SAMPLE_ROWS);
  return first!.every((cell, n) => {
    if (cell === '') return true;
    if (!table.header.names[n + shift]) return false;
    const column = below.map((row) => row[n + shift] ?? '').filter(Boolean);
    const numbers = column.filter((value) => !isWord(value)).length;
    return numbers * 2 <= column.length || !isWord(cell);
  });
}

const filledCells = (row: readonly string[]) => row.filter((cell) => cell !== '').length;

function isHeader(row: readonly string[]): boolean {
  const cells = row.filter((cell) => cell !== '');
  const others = cells.filter((cell) => !isWord(cell));
  if (others.length === 0) return true;
  // "Port; 2023; 2024": a name followed by consecutive years.
  const following = others.every((cell, n) => n === 0 || Math.abs(Number(cell) - Number(others[n - 1])) <= 1);
  return others.length >= 2 && isWord(cells[0]!) && following && others.every((cell) => /^(19|20)\d\d$/.test(cell));
}

/** A row with the text of each merged cell in all its columns. A cell over the whole width is a title and is left as it is. */
function spreadMerged(block: Block, row: number, spans: readonly Span[]): string[] {
  const cells = [...block.rows[row]!];
  for (const { left, right } of mergedColumns(block, row, spans))
    for (let column = left; column <= right; column++) cells[column - block.left] ||= cells[left - block.left]!;
  return cells;
}

const hasGroups = (block: Block, row: number, spans: readonly Span[]) => mergedColumns(block, row, spans).length > 0;

function mergedColumns(block: Block, row: number, spans: readonly Span[]): Span[] {
  const end = block.left + block.rows[0]!.length - 1;
  return spans.filter(
    ({ top, left, right }) =>
      top === block.top + row &&
      right > left &&
      left >= block.left &&
      right <= end &&
      right - left < end - block.left &&
      countWords(block.rows[row]![left - block.left]!) <= GROUP_WORDS,
  );
}
