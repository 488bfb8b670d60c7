/** A sheet or table as its file has it: row 0 is row 1 of the sheet; empty cells are ''. */
export interface Grid {
  rows: string[][];
  /** Cells merged into one; only the first of them has text. */
  spans?: Span[];
}

/** Merged cells, from 0, first and last included. */
export interface Span {
  top: number;
  left: number;
  bottom: number;
  right: number;
}

/** Rows without an empty one between them, over columns without an empty one between them. */
export interface Block {
  /** Place of the first cell in its grid, from 0. */
  top: number;
  left: number;
  /** As wide as the widest row; empty rows are left in, so that a row keeps its number. */
  rows: string[][];
  /** Empty rows above it, up to the block before. */
  gap: number;
}

/** Finds what stands on a sheet: blocks set off by empty rows, and tables side by side. */
export function findBlocks(grid: Grid): Block[] {
  const rows = fillDown(grid);
  const blocks: Block[] = [];
  let end = 0;
  for (let top = 0; top < rows.length; top++) {
    if (isEmpty(rows[top]!)) continue;
    let bottom = top;
    while (bottom + 1 < rows.length && !isEmpty(rows[bottom + 1]!)) bottom++;
    const block = rows.slice(top, bottom + 1);
    for (const [left, right] of columnGroups(block)) {
      const cells = block.map((row) => Array.from({ length: right - left }, (_, n) => row[left + n] ?? ''));
      blocks.push({ top, left, rows: cells, gap: top - end });
    }
    end = bottom + 1;
    top = bottom;
  }
  return blocks;
}

/** A cell merged over several rows says the same of each of them. */
function fillDown({ rows, spans = [] }: Grid): string[][] {
  const filled = rows.map((row) => row.map((cell) => cell.replace(/\s+/g, ' ').trim()));
  for (const { top, left, bottom } of spans) {
    const text = filled[top]?.[left];
    if (!text) continue;
    for (let row = top + 1; row <= bottom && row < filled.length; row++) {
      // Only where the row says something else too: a merged margin makes no rows.
      if (!isEmpty(filled[row]!) && !filled[row]![left]) filled[row]![left] = text;
    }
  }
  return filled;
}

/** Columns from and to (excluded) of the tables that stand side by side; of one, when there is any doubt. */
function columnGroups(rows: string[][]): [number, number][] {
  const width = Math.max(...rows.map((row) => row.length));
  const used = Array.from({ length: width }, (_, column) => rows.some((row) => row[column]));
  const groups: [number, number][] = [];
  for (let column = 0; column < width; column++) {
    if (!used[column]) continue;
    if (column > 0 && used[column - 1]) groups.at(-1)![1] = column + 1;
    else groups.push([column, column + 1]);
  }
  const whole: [number, number] = [groups[0]![0], groups.at(-1)![1]];
  // An empty column may be a mere spacer: what stands behind it is a table when it has a column that names its rows.
  return groups.length > 1 && groups.every((group) => namesItsRows(rows, group)) ? groups : [whole];
}

function namesItsRows(rows: string[][], [from, to]: [number, number]): boolean {
  const names = rows.map((row) => row[from] ?? '').filter((cell) => cell !== '');
  return to - from >= 2 && names.length >= 2 && names.every(isWord);
}

export const isEmpty = (row: readonly string[]) => row.every((cell) => cell === '');
/** Anything but a number, an amount, a date or a time. */
export const isWord = (cell: string) => cell !== '' && !/^[-+\d.,:%/\s$€£()T]*Z?$/.test(cell);
