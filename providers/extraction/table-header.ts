import { type Block, isWord, type Span } from './table-layout.js';

export interface Header {
  /** Rows of the block above the header: its title, a note. */
  above: number;
  /** Rows of the header itself: two where groups of columns have a name of their own. */
  depth: number;
  /** A name a column, '' where it has none. */
  names: string[];
}

/** Headers stand near the top. */
const LOOKED_AT = 10;
/** A column is judged by its first rows. */
const JUDGED_ROWS = 50;

/** Finds a block's header: the first row about as wide as the table whose cells are all words, or words and years. */
export function findHeader(block: Block, spans: readonly Span[]): Header | null {
  const { rows } = block;
  const width = Math.max(...rows.slice(0, JUDGED_ROWS).map(filledCells));
  if (width < 2) return null;
  const spread = rows.slice(0, LOOKED_AT).map((_, row) => spreadOver(block, row, spans));
  const above = spread.findIndex((row) => filledCells(row) >= Math.max(2, width * 0.6));
  if (above === -1 || above === rows.length - 1 || !isHeader(spread[above]!)) return null;
  const names = spread[above]!;
  const below = spread[above + 1];
  const grouped = below && above + 2 < rows.length && hasGroups(block, above, spans) && isHeader(below);
  if (!grouped) return { above, depth: 1, names };
  // "2024" over "Spring" is "2024 Spring"; a name over both rows is said once.
  const joined = names.map((name, column) => [...new Set([name, below[column] ?? ''])].filter(Boolean).join(' '));
  return { above, depth: 2, names: joined };
}

/** Whether a block goes on with the table above it: its first row says in each column what the table's rows say there. */
export function continues(block: Block, table: Block & { header: Header }): boolean {
  const [first] = block.rows;
  if (block.gap > 1 || block.left < table.left || filledCells(first!) < 2) return false;
  const shift = block.left - table.left;
  const below = table.rows.slice(table.header.above + table.header.depth).slice(0, JUDGED_ROWS);
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
  // "Port; 2023; 2024": years side by side, and a name before them.
  const following = others.every((cell, n) => n === 0 || Math.abs(Number(cell) - Number(others[n - 1])) <= 1);
  return others.length >= 2 && isWord(cells[0]!) && following && others.every((cell) => /^(19|20)\d\d$/.test(cell));
}

/** A cell merged over some columns, said of each; one over the whole width is a title. */
function spreadOver(block: Block, row: number, spans: readonly Span[]): string[] {
  const cells = [...block.rows[row]!];
  for (const { left, right } of across(block, row, spans))
    for (let column = left; column <= right; column++) cells[column - block.left] ||= cells[left - block.left]!;
  return cells;
}

const hasGroups = (block: Block, row: number, spans: readonly Span[]) => across(block, row, spans).length > 0;

function across(block: Block, row: number, spans: readonly Span[]): Span[] {
  const end = block.left + block.rows[0]!.length - 1;
  return spans.filter(
    ({ top, left, right }) =>
      top === block.top + row && right > left && left >= block.left && right <= end && right - left < end - block.left,
  );
}
