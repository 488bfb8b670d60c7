import { countWords } from '../../../domain/content/chunking.js';
import type { ExtractedSection } from '../../../domain/extraction.js';
import { continues, findHeader, type Header } from './header.js';
import { type Block, findBlocks, type Grid, isEmpty } from './layout.js';

/** Words of one line. A longer row is split into lines that each begin with the row's name, so that every chunk shows it. */
const LINE_WORDS = 180;
/** A first cell of at most this many words is the name of its row. */
const NAME_WORDS = 12;
/** A row with a single cell of at least this many words is a remark, not a value. */
const REMARK_WORDS = 3;
/** A line of at most this many words above a table is its title. */
const TITLE_WORDS = 25;

/**
 * Turns each table of a grid into a section with a line of `header: value; header: value` per row, so that a row can be
 * understood alone. A title above a table becomes its heading. Notes and tables without a header are lines of plain values.
 * @param context headings above the grid, and its sheet
 */
export function tableSections(
  grid: Grid,
  context: { headings?: readonly string[]; sheet?: string } = {},
): ExtractedSection[] {
  const { headings = [], ...location } = context;
  const sections: OpenSection[] = [];
  let titles: Block[] = [];
  let table = null as Table | null;
  const add = (block: Block, header: Header | null, above: readonly string[]) => {
    const last = sections.at(-1);
    // Blocks without a header are one text, with any number of empty rows between them.
    const joins = !header && !table && last;
    const section = joins ? last : { headings: [...headings, ...above], ...location, lines: [] };
    append(section, linesOf(block, header));
    if (!joins) sections.push(section);
    table = header ? { ...block, header, section } : null;
  };
  const addTitlesAsText = () => {
    for (const title of titles) add(title, null, []);
    titles = [];
  };
  for (const block of findBlocks(grid)) {
    const header = findHeader(block, grid);
    if (!header && isTitle(block)) {
      titles.push(block);
    } else if (table && titles.length === 0 && continues(block, table)) {
      append(table.section, linesOf(block, { ...table.header, above: 0, depth: 0 }, block.left - table.left));
    } else if (header) {
      const own = block.rows.slice(0, header.above).filter(isTitleRow);
      add(block, header, [...titles.flatMap(({ rows }) => rows), ...own].map(plain));
      titles = [];
    } else {
      addTitlesAsText();
      add(block, null, []);
    }
  }
  addTitlesAsText();
  return sections
    .filter(({ lines }) => lines.length > 0)
    .map(({ lines, ...section }) => ({
      text: lines.map(({ text }) => text).join('\n'),
      ...section,
      rows: lines.map(({ row }) => row),
    }));
}

/** A section whose lines are still collected. They are joined once, because a sheet can have an empty row after each row. */
type OpenSection = Omit<ExtractedSection, 'text' | 'rows'> & { lines: Line[] };

/** The current table, which the blocks below it may continue. */
type Table = Block & { header: Header; section: OpenSection };

interface Line {
  row: number;
  text: string;
}

function append(section: OpenSection, lines: readonly Line[]): void {
  for (const line of lines) section.lines.push(line);
}

/** @param shift columns between the left edges of the header and the block */
function linesOf(block: Block, header: Header | null, shift = 0): Line[] {
  const from = header ? header.above : 0;
  const notes = block.rows.slice(0, from).map((cells, n) => ({ cells, row: block.top + n + 1 }));
  const data = block.rows.slice(from + (header?.depth ?? 0));
  const first = block.top + from + (header?.depth ?? 0) + 1;
  return [
    ...notes
      .filter(({ cells }) => !isEmpty(cells) && !isTitleRow(cells))
      .map(({ cells, row }) => ({ row, text: plain(cells) })),
    ...data.flatMap((cells, n) =>
      rowLines(cells, header?.names ?? [], shift).map((text) => ({ row: first + n, text })),
    ),
  ].filter(({ text }) => text !== '');
}

/** A row as one line, or as several that each begin with the row's name. */
function rowLines(cells: readonly string[], names: readonly string[], shift: number): string[] {
  const isAlone = names.length !== 1 && cells.filter((cell) => cell !== '').length === 1;
  if (isAlone && countWords(plain(cells)) >= REMARK_WORDS) return [plain(cells)];
  const fields = cells.flatMap((cell, column) => (cell === '' ? [] : [field(names[column + shift], cell)]));
  const line = fields.join('; ');
  if (names.length === 0 || countWords(line) <= LINE_WORDS) return [line];
  const name = countWords(fields[0]!) <= NAME_WORDS ? fields.shift()! : '';
  const lines: string[][] = [];
  let words = 0;
  for (const piece of fields.flatMap((text) => inPieces(text))) {
    const pieceWords = countWords(piece);
    if (lines.length === 0 || words + pieceWords > LINE_WORDS) {
      lines.push(name === '' ? [] : [name]);
      words = countWords(name);
    }
    lines.at(-1)!.push(piece);
    words += pieceWords;
  }
  return lines.map((pieces) => pieces.join('; '));
}

const field = (name: string | undefined, cell: string) => (name ? `${name}: ${cell}` : cell);
const plain = (cells: readonly string[]) => cells.filter((cell) => cell !== '').join('; ');

/** Splits the field of a long cell into pieces that each begin with the column's name. */
function inPieces(text: string): string[] {
  if (countWords(text) <= LINE_WORDS) return [text];
  const [, name = '', cell = ''] = /^([^:]{1,80}: )?(.*)$/s.exec(text)!;
  const pieces: string[] = [];
  let piece = '';
  for (const word of cell.split(' ')) {
    if (piece !== '' && countWords(`${name}${piece} ${word}`) > LINE_WORDS / 2) {
      pieces.push(name + piece);
      piece = '';
    }
    piece += piece === '' ? word : ` ${word}`;
  }
  return [...pieces, name + piece];
}

const isTitle = ({ rows }: Block) => rows.length <= 2 && rows.every(isTitleRow);
const isTitleRow = (row: readonly string[]) =>
  row.filter((cell) => cell !== '').length === 1 && countWords(plain(row)) <= TITLE_WORDS;
