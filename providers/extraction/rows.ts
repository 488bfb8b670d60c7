import { countWords } from '../../domain/content/chunking.js';
import type { ExtractedSection } from '../../domain/extraction.js';
import { continues, findHeader, type Header } from './table-header.js';
import { type Block, findBlocks, type Grid, isEmpty } from './table-layout.js';

/** Words of one line: a longer row is told in several, each with the row's name, so that a chunk never cuts it blindly. */
const LINE_WORDS = 180;
/** A first cell of so many words is the name of its row; a longer one is text like any other. */
const NAME_WORDS = 12;
const REMARK_WORDS = 3;
/** Lines above a table of so many words are its title; longer ones are text. */
const TITLE_WORDS = 25;

/**
 * Writes tables as lines of `header: value; header: value`, a section a table, so that each row is understood without the
 * others. Several tables on a sheet are told apart; a title above one is its heading; tables without a header, and notes
 * beside them, stay plain values.
 * @param rest headings above the table, and the sheet it is on
 */
export function tableSections(
  grid: Grid,
  rest: { headings?: readonly string[]; sheet?: string } = {},
): ExtractedSection[] {
  const { headings = [], ...place } = rest;
  const sections: ExtractedSection[] = [];
  let titles: Block[] = [];
  let table = null as Table | null;
  const add = (block: Block, header: Header | null, above: readonly string[]) => {
    const last = sections.at(-1);
    // Lists and notes are one text, however many empty rows there are between.
    const joins = !header && !table && last;
    const section = joins ? last : { text: '', headings: [...headings, ...above], ...place, rows: [] };
    append(section, linesOf(block, header));
    if (!joins) sections.push(section);
    table = header ? { ...block, header, section } : null;
  };
  const addTitlesAsText = () => {
    for (const title of titles) add(title, null, []);
    titles = [];
  };
  for (const block of findBlocks(grid)) {
    const header = findHeader(block, grid.spans ?? []);
    if (isTitle(block)) {
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
  return sections.filter(({ text }) => text !== '');
}

/** A table under way, which blocks below it may go on with. */
type Table = Block & { header: Header; section: ExtractedSection };

interface Line {
  row: number;
  text: string;
}

function append(section: ExtractedSection, lines: readonly Line[]): void {
  section.text = [...(section.text === '' ? [] : [section.text]), ...lines.map(({ text }) => text)].join('\n');
  section.rows!.push(...lines.map(({ row }) => row));
}

/** @param shift columns by which the block begins right of its header */
function linesOf(block: Block, header: Header | null, shift = 0): Line[] {
  const from = header ? header.above : 0;
  const notes = block.rows.slice(0, from).map((cells, n) => ({ cells, row: block.top + n + 1 }));
  const data = block.rows.slice(from + (header?.depth ?? 0));
  const first = block.top + from + (header?.depth ?? 0) + 1;
  return [
    ...notes
      .filter(({ cells }) => !isEmpty(cells) && !isTitleRow(cells))
      .map(({ cells, row }) => ({ row, text: plain(cells) })),
    ...data.flatMap((cells, n) => written(cells, header?.names ?? [], shift).map((text) => ({ row: first + n, text }))),
  ].filter(({ text }) => text !== '');
}

/** A row as one line, or as several that each begin with its name; words alone in a row are a remark, not a value. */
function written(cells: readonly string[], names: readonly string[], shift: number): string[] {
  if (cells.filter((cell) => cell !== '').length === 1 && countWords(plain(cells)) >= REMARK_WORDS)
    return [plain(cells)];
  const fields = cells.flatMap((cell, column) => (cell === '' ? [] : [field(names[column + shift], cell)]));
  const line = fields.join('; ');
  if (names.length === 0 || countWords(line) <= LINE_WORDS) return [line];
  const name = countWords(fields[0]!) <= NAME_WORDS ? fields.shift()! : '';
  const lines: string[][] = [];
  let words = 0;
  for (const part of fields.flatMap((text) => inPieces(text))) {
    const its = countWords(part);
    if (lines.length === 0 || words + its > LINE_WORDS) {
      lines.push(name === '' ? [] : [name]);
      words = countWords(name);
    }
    lines.at(-1)!.push(part);
    words += its;
  }
  return lines.map((parts) => parts.join('; '));
}

const field = (name: string | undefined, cell: string) => (name ? `${name}: ${cell}` : cell);
const plain = (cells: readonly string[]) => cells.filter((cell) => cell !== '').join('; ');

/** A cell that is a whole text, in pieces that each say which column they are of. */
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
