/** The words of a page as OCR read them, and the lines that they form. */
/** In pixels, from the top left corner. */
interface Box {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

/** A recognised word. */
export interface Word extends Box {
  text: string;
  /** 0 to 100. */
  confidence: number;
}

/** Level of the rows of Tesseract's TSV that are words; the others are pages, blocks, paragraphs and lines. */
const WORD_LEVEL = 5;
/** As for the text of a page: below it are dust and stains. */
const MIN_CONFIDENCE = 25;
/** Characters that OCR reads from the lines that are drawn around cells. */
const RULING = /^[|¦_[\]{}()—]+$/;

/** Reads the words of a page from Tesseract's TSV: level, five numbers, left, top, width, height, confidence, text. */
export function readWords(tsv: string): Word[] {
  const words: Word[] = [];
  for (const row of tsv.split('\n')) {
    const fields = row.split('\t');
    if (Number(fields[0]) !== WORD_LEVEL) continue;
    const [left, top, width, height, confidence] = fields.slice(6, 11).map(Number) as [number, number, number, number, number]; // biome-ignore format: one line
    const text = (fields[11] ?? '').trim();
    if (text === '' || confidence < MIN_CONFIDENCE || RULING.test(text)) continue;
    words.push({ text, confidence, x0: left, y0: top, x1: left + width, y1: top + height });
  }
  return words;
}

/** Words of one line that stand close together: the content of a cell, or a part of it. */
export interface Segment extends Box {
  words: Word[];
}

/** A line across the page, from left to right. */
export interface Line {
  /** The middle of its first word, in pixels from the top. */
  y: number;
  segments: Segment[];
}

/** How much of the lower of two words must be beside the other, so that they are on one line. */
const MIN_OVERLAP = 0.5;
/** Words with a wider gap between them, in heights of a word, are in different segments. Spaces have a third of a height. */
const SEGMENT_GAP = 1.2;

/**
 * Groups the words of a page by lines, from top to bottom. A line follows its words from left to right, so a page that is
 * tilted by a few degrees is read correctly.
 * @returns the lines, and the usual height of a word in pixels
 */
export function linesOf(words: readonly Word[]): { lines: Line[]; height: number } {
  const heights = words.map(({ y0, y1 }) => y1 - y0).sort((a, b) => a - b);
  const height = heights[heights.length >> 1] ?? 0;
  const rows: Word[][] = [];
  for (const word of [...words].sort((a, b) => a.x0 - b.x0)) {
    const row = nearestRow(rows, word);
    if (row) row.push(word);
    else rows.push([word]);
  }
  const lines = rows.map((row) => ({ y: middle(row[0]!), segments: segmentsOf(row, SEGMENT_GAP * height) }));
  return { lines: lines.sort((a, b) => a.y - b.y), height };
}

/** The row whose last word is beside this word. */
function nearestRow(rows: readonly Word[][], word: Word): Word[] | undefined {
  let nearest: { row: Word[]; distance: number } | undefined;
  for (const row of rows) {
    const last = row.at(-1)!;
    const overlap = Math.min(last.y1, word.y1) - Math.max(last.y0, word.y0);
    if (overlap < MIN_OVERLAP * Math.min(last.y1 - last.y0, word.y1 - word.y0)) continue;
    const distance = Math.abs(middle(last) - middle(word));
    if (!nearest || distance < nearest.distance) nearest = { row, distance };
  }
  return nearest?.row;
}

function segmentsOf(row: readonly Word[], maxGap: number): Segment[] {
  const segments: Segment[] = [];
  for (const word of row) {
    const last = segments.at(-1);
    if (last && word.x0 - last.x1 <= maxGap) {
      last.words.push(word);
      last.x1 = Math.max(last.x1, word.x1);
      last.y0 = Math.min(last.y0, word.y0);
      last.y1 = Math.max(last.y1, word.y1);
    } else {
      const { x0, y0, x1, y1 } = word;
      segments.push({ words: [word], x0, y0, x1, y1 });
    }
  }
  return segments;
}

const middle = ({ y0, y1 }: Word) => (y0 + y1) / 2;
