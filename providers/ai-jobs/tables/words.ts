/** A recognised word; its box in pixels. */
export interface Word {
  text: string;
  /** 0 to 100. */
  confidence: number;
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

/** Level of the rows of Tesseract's TSV that are words; the others are pages, blocks, paragraphs and lines. */
const WORD_LEVEL = 5;
/** As for the text of a page: below it are dust and stains. */
const MIN_CONFIDENCE = 25;
/** What is left of the lines that are drawn around cells. */
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
