import type { ExtractedSection, SectionLocation } from '../extraction.js';

/** A section of a document that is embedded, indexed and returned as a unit. */
export interface Chunk extends SectionLocation {
  /** Position among the document's chunks, from 0. */
  ordinal: number;
  text: string;
  headings: string[];
  /** First and last row of a table. */
  rows?: [number, number];
}

/**
 * Maximum words of a chunk. A word has about 1.3 tokens, in technical text up to 1.7; with title and headings, a chunk stays
 * within a model's 512 tokens.
 */
const MAX_WORDS = 250;
/** Maximum words that a chunk repeats from the end of the previous chunk, in whole sentences. */
const OVERLAP = 40;

/** A part of a chunk that is not divided: a sentence, or a line of a table. */
interface Unit {
  text: string;
  words: number;
  startsParagraph: boolean;
  /** Row of a table. */
  row?: number;
}

/** Letters per word in long runs without spaces, because URLs and code have many tokens. */
const LETTERS_PER_WORD = 12;
/** Longer paragraphs are segmented in pieces, because the segmenter's time grows faster than its input. */
const MAX_SEGMENTED = 16_384;
const MAX_LABEL = 300;
/** Characters of scripts without spaces between words. Each counts, and is searched, as a word. */
export const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu;

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

/**
 * Divides an extraction into chunks of about equal size: text between sentences, preferably between paragraphs, and tables
 * between rows. A chunk never spans two pages, sheets, tables or headings, so it has one location. The same input always
 * gives the same chunks, because their ids depend on it.
 */
export function chunkSections(extraction: { title: string | null; sections: readonly ExtractedSection[] }): Chunk[] {
  const chunks: Chunk[] = [];
  for (const group of groupSections(extraction.sections)) {
    const { text: _, rows, headings, ...location } = group[0]!;
    const packed = rows
      ? pack(tableRowsOf(group[0]!), 0)
      : pack(
          group.flatMap(({ text }) => sentencesOf(text)),
          OVERLAP,
        );
    for (const units of packed) {
      const { row } = units[0]!;
      const range = row === undefined ? {} : { rows: [row, units.at(-1)!.row!] as [number, number] };
      chunks.push({ ordinal: chunks.length, text: join(units), headings: [...headings], ...location, ...range });
    }
  }
  return chunks;
}

/** @returns the text of a chunk for full-text search and embeddings, with title, sheet and headings, which queries often contain */
export function searchableText(
  title: string | null,
  chunk: { text: string; headings: readonly string[]; sheet?: string | null },
): string {
  const labels = [title ?? '', chunk.sheet ?? '', chunk.headings.join(' > ')].map((label) =>
    label.trim().slice(0, MAX_LABEL),
  );
  return [...new Set(labels.filter((label) => label !== '')), chunk.text].join('\n');
}

/** Groups consecutive sections under the same headings on the same page or slide. Each table is a group of its own. */
function groupSections(sections: readonly ExtractedSection[]): ExtractedSection[][] {
  const groups: ExtractedSection[][] = [];
  let previousKey: string | undefined;
  for (const section of sections) {
    const { text: _, rows, ...location } = section;
    const groupKey = rows ? undefined : JSON.stringify(location);
    if (groupKey !== undefined && groupKey === previousKey) groups.at(-1)!.push(section);
    else groups.push([section]);
    previousKey = groupKey;
  }
  return groups;
}

function sentencesOf(text: string): Unit[] {
  const sentences: Unit[] = [];
  for (const paragraph of text.replace(/\r\n?/g, '\n').split(/\n[^\S\n]*\n\s*/)) {
    let startsParagraph = true;
    for (const piece of pieces(paragraph)) {
      // A line that continues in lower case was wrapped: its newline does not end a sentence, but stays in the text.
      const unwrapped = piece.replace(/\n(?=\p{Ll})/gu, ' ');
      for (const { index, segment } of segmenter.segment(unwrapped)) {
        for (const part of splitLong(piece.slice(index, index + segment.length))) {
          if (part.trim() === '') continue;
          sentences.push({ text: part, words: countWords(part), startsParagraph });
          startsParagraph = false;
        }
      }
    }
  }
  return sentences;
}

function* pieces(paragraph: string): Generator<string> {
  for (let start = 0; start < paragraph.length; ) {
    let end = Math.min(start + MAX_SEGMENTED, paragraph.length);
    if (end < paragraph.length) end = endOfWord(paragraph, start, end);
    yield paragraph.slice(start, end);
    start = end;
  }
}

/** @returns the end of the last word in the window's second half, or `end`, but not inside a surrogate pair */
function endOfWord(text: string, start: number, end: number): number {
  for (let index = end; index > start + (end - start) / 2; index -= 1) {
    if (/\s/.test(text[index - 1]!)) return index;
  }
  return isLowSurrogate(text.charCodeAt(end)) ? end - 1 : end;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

/** @returns the approximate number of English words that have as many tokens as this text */
export function countWords(text: string): number {
  let words = 0;
  for (const run of text.match(/\S+/g) ?? []) {
    const unspaced = run.match(UNSPACED)?.length ?? 0;
    words += unspaced + Math.ceil((run.length - unspaced) / LETTERS_PER_WORD);
  }
  return words;
}

/** Divides a sentence over the limit between words, and a word over the limit anywhere. */
function* splitLong(sentence: string): Generator<string> {
  if (countWords(sentence) <= MAX_WORDS) return yield sentence;
  let part = '';
  let words = 0;
  for (const [run] of sentence.matchAll(/\S+\s*|\s+/g)) {
    for (const piece of countWords(run) > MAX_WORDS ? cut(run, MAX_WORDS) : [run]) {
      const pieceWords = countWords(piece);
      if (words + pieceWords > MAX_WORDS && part !== '') {
        yield part;
        part = '';
        words = 0;
      }
      part += piece;
      words += pieceWords;
    }
  }
  if (part !== '') yield part;
}

function* cut(run: string, size: number): Generator<string> {
  // A character is at most one word, so `size` characters are at most `size` words in any script.
  for (let start = 0; start < run.length; ) {
    let end = Math.min(start + size, run.length);
    if (end < run.length && end - start > 1 && isLowSurrogate(run.charCodeAt(end))) end -= 1;
    yield run.slice(start, end);
    start = end;
  }
}

/** @returns the lines of a table with their rows. A line over the limit is divided */
function tableRowsOf({ text, rows }: ExtractedSection): Unit[] {
  return text.split('\n').flatMap((line, index) =>
    [...splitLong(line)].map((part, n) => ({
      text: n === 0 && index > 0 ? `\n${part}` : part,
      words: countWords(part),
      startsParagraph: false,
      row: rows![index]!,
    })),
  );
}

/** Fills chunks evenly: 260 words become two chunks of about 130 words, not of 250 and 10. */
function pack(units: readonly Unit[], overlap: number): Unit[][] {
  const total = units.reduce((sum, { words }) => sum + words, 0);
  const target = total / Math.ceil(total / MAX_WORDS);
  const chunks: Unit[][] = [];
  let chunk: Unit[] = [];
  let words = 0;
  for (const unit of units) {
    const full = words + unit.words > MAX_WORDS || words + unit.words / 2 > target;
    if (chunk.length > 0 && (full || (unit.startsParagraph && words > target * 0.8))) {
      chunks.push(chunk);
      chunk = tail(chunk, Math.min(overlap, MAX_WORDS - unit.words));
      words = chunk.reduce((sum, { words: unitWords }) => sum + unitWords, 0);
    }
    chunk.push(unit);
    words += unit.words;
  }
  if (chunk.length > 0) chunks.push(chunk);
  return chunks;
}

/** @returns the last units of a chunk with at most this many words, but never the whole chunk */
function tail(chunk: readonly Unit[], words: number): Unit[] {
  let from = chunk.length;
  let remaining = words;
  while (from > 1 && chunk[from - 1]!.words <= remaining) {
    from -= 1;
    remaining -= chunk[from]!.words;
  }
  return chunk.slice(from);
}

function join(units: readonly Unit[]): string {
  return units
    .map(({ text, startsParagraph }) => (startsParagraph ? `\n\n${text.trimStart()}` : text))
    .join('')
    .trim();
}
