import type { ExtractedSection } from '../../domain/extraction.js';

/** Rows are gathered up to about this many characters, the size of a chunk, so that a chunk rarely cuts a row. */
const SECTION_CHARS = 1_500;

/**
 * Writes table rows as lines of `header: value; header: value`, so that a row is understood without the others.
 * Rows above the header (a title, a note) and tables without a header stay plain values.
 * @param rows cells as text, empty cells as ''
 */
export function rowsToSections(rows: string[][], place: { sheet?: string } = {}): ExtractedSection[] {
  const filled = rows.map((row) => row.map((cell) => cell.trim())).filter((row) => row.some((cell) => cell !== ''));
  const headerIndex = findHeader(filled);
  const header = headerIndex === -1 ? [] : filled[headerIndex]!;
  const sections: ExtractedSection[] = [];
  let lines: string[] = [];
  let length = 0;
  const close = () => {
    if (lines.length > 0) sections.push({ text: lines.join('\n'), headings: [], ...place });
    lines = [];
    length = 0;
  };
  filled.forEach((row, index) => {
    if (index === headerIndex && filled.length > headerIndex + 1) return;
    const line = formatRow(row, index > headerIndex ? header : []);
    if (length + line.length > SECTION_CHARS) close();
    lines.push(line);
    length += line.length + 1;
  });
  close();
  return sections;
}

function formatRow(row: string[], header: string[]): string {
  return row
    .map((cell, column) => (cell !== '' && header[column] ? `${header[column]}: ${oneLine(cell)}` : oneLine(cell)))
    .filter((cell) => cell !== '')
    .join('; ');
}

/** The first row as wide as the table whose cells are all words; -1 when the table begins with numbers. */
function findHeader(rows: string[][]): number {
  const width = Math.max(0, ...rows.slice(0, 50).map((row) => row.filter((cell) => cell !== '').length));
  if (width < 2) return -1;
  const candidate = rows
    .slice(0, 10)
    .findIndex((row) => row.filter((cell) => cell !== '').length >= Math.max(2, width * 0.6));
  if (candidate === -1) return -1;
  const isWord = (cell: string) => !/^[-+\d.,:%/\s]*$/.test(cell) || cell === '';
  return rows[candidate]!.every(isWord) ? candidate : -1;
}

const oneLine = (cell: string) => cell.replace(/\s+/g, ' ');
