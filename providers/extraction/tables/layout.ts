/** The cells of a sheet or table. Row 0 is row 1 of the sheet; empty cells are ''. */
export interface Grid {
  rows: string[][];
  /** Merged cells; only the first cell of each has text. */
  spans?: Span[];
  /** The row that the document itself marks as the header; null for none. When absent, the header is found by its cells. */
  header?: number | null;
}

/** A range of merged cells, counted from 0, first and last included. */
export interface Span {
  top: number;
  left: number;
  bottom: number;
  right: number;
}

/** A rectangle of cells without an empty row or column through it: one table, a title, or a note. */
export interface Block {
  /** Position of the first cell in its grid, from 0. */
  top: number;
  left: number;
  /** All rows have the width of the widest. */
  rows: string[][];
  /** Empty rows between this block and the previous one. */
  gap: number;
}

/** Splits a grid into blocks at its empty rows, and at empty columns between tables. */
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

/** Copies the text of a cell merged over several rows into each of them. */
function fillDown({ rows, spans = [] }: Grid): string[][] {
  const filled = rows.map((row) => row.map((cell) => cell.replace(/\s+/g, ' ').trim()));
  for (const { top, left, bottom } of spans) {
    const text = filled[top]?.[left];
    if (!text) continue;
    for (let row = top + 1; row <= bottom && row < filled.length; row++) {
      // Only into rows with other text: a merged margin makes no rows.
      if (!isEmpty(filled[row]!) && !filled[row]![left]) filled[row]![left] = text;
    }
  }
  return filled;
}

/** Column ranges [from, to) of tables side by side; one range when it is unclear whether they are separate tables. */
function columnGroups(rows: string[][]): [number, number][] {
  // No spread: a call has room for some 100,000 arguments.
  const width = rows.reduce((widest, row) => Math.max(widest, row.length), 0);
  const used = Array.from({ length: width }, (_, column) => rows.some((row) => row[column]));
  const groups: [number, number][] = [];
  for (let column = 0; column < width; column++) {
    if (!used[column]) continue;
    if (column > 0 && used[column - 1]) groups.at(-1)![1] = column + 1;
    else groups.push([column, column + 1]);
  }
  const whole: [number, number] = [groups[0]![0], groups.at(-1)![1]];
  // An empty column may be a spacer: the columns after it are a table when their first column names the rows.
  return groups.length > 1 && groups.every((group) => hasRowNames(rows, group)) ? groups : [whole];
}

function hasRowNames(rows: string[][], [from, to]: [number, number]): boolean {
  const names = rows.map((row) => row[from] ?? '').filter((cell) => cell !== '');
  return to - from >= 2 && names.length >= 2 && names.every(isWord);
}

export const isEmpty = (row: readonly string[]) => row.every((cell) => cell === '');
/** True for text other than a number, an amount, a date or a time. */
export const isWord = (cell: string) => cell !== '' && !/^[-+\d.,:%/\s$€£()T]*Z?$/.test(cell);
