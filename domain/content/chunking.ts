import type { ExtractedSection, SectionLocation } from '../extraction.js';
import { addRange, cutRanges, type TextRange } from '../text-ranges.js';
import { codeCursor, type Piece, piecesOf } from './code-ranges.js';

/** A section of a document that is embedded, indexed and returned as a unit. */
export interface Chunk extends SectionLocation {
  /** Position among the document's chunks, from 0. */
  ordinal: number;
  text: string;
  headings: string[];
  /** The parts of the text that are code, in order. */
  code?: TextRange[];
  /** First and last row of a table. */
  rows?: [number, number];
  /** Characters at the start that repeat the end of the chunk before. */
  overlap?: number;
}

/**
 * Maximum words of a chunk. A word has about 1.3 tokens, in technical text up to 1.7; with title and headings, a chunk stays
 * within a model's 512 tokens.
 */
const MAX_WORDS = 250;
/** Maximum words that a chunk repeats from the end of the previous chunk, in whole sentences. */
const OVERLAP = 40;

/** A part of a chunk that is not divided: a sentence, a line of a table, or a block of code. */
interface Unit {
  text: string;
  words: number;
  startsParagraph: boolean;
  /** The parts of this text that are code. */
  code?: TextRange[];
  /** Row of a table. */
  row?: number;
}

/** Characters of code per word: names and signs have many tokens. */
const CODE_PER_WORD = 6;
/** Letters per word in long runs without spaces, because URLs and code have many tokens. */
const LETTERS_PER_WORD = 12;
/** Characters segmented at a time, because the segmenter's time grows faster than its input. A longer sentence is divided. */
const WINDOW = 2_048;
/** ASCII without a character that can end a sentence. */
const NO_END = /^[\t "-\-/->@-~]*$/;
const MAX_LABEL = 300;
/** Characters of scripts without spaces between words. Each counts as a word. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu;

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

/**
 * Divides an extraction into chunks of about equal size: text between sentences, preferably between paragraphs, and tables
 * between rows. A chunk never spans two pages, sheets, tables or headings, so it has one location. The same input always
 * gives the same chunks, because their ids depend on it. Takes time in proportion to the text, and memory for one chunk.
 */
export function* chunkSections({ sections }: { sections: readonly ExtractedSection[] }): Generator<Chunk> {
  let ordinal = 0;
  for (const group of groupSections(sections)) {
    const { text: _, code: __, rows, headings, ...location } = group[0]!;
    const words = group.reduce((sum, section) => sum + wordsOf(section), 0);
    const packed = rows ? pack(tableRowsOf(group[0]!), words, 0) : pack(sentencesOf(group), words, OVERLAP);
    for (const { units, repeated } of packed) {
      const { row } = units[0]!;
      const range = row === undefined ? {} : { rows: [row, units.at(-1)!.row!] as [number, number] };
      yield { ordinal: ordinal++, ...join(units, repeated), headings: [...headings], ...location, ...range };
    }
  }
}

/** @returns the text of a chunk for full-text search and embeddings, with title, attachment, sheet and headings, which queries often contain */
export function searchableText(
  title: string | null,
  chunk: { text: string; headings: readonly string[]; sheet?: string | null; attachment?: string },
): string {
  const labels = [title ?? '', chunk.attachment ?? '', chunk.sheet ?? '', chunk.headings.join(' > ')].map((label) =>
    label.trim().slice(0, MAX_LABEL),
  );
  return [...new Set(labels.filter((label) => label !== '')), chunk.text].join('\n');
}

/** Groups consecutive sections under the same headings on the same page or slide. Each table is a group of its own. */
function groupSections(sections: readonly ExtractedSection[]): ExtractedSection[][] {
  const groups: ExtractedSection[][] = [];
  let previousKey: string | undefined;
  for (const section of sections) {
    const { text: _, code: __, rows, ...location } = section;
    const groupKey = rows ? undefined : JSON.stringify(location);
    if (groupKey !== undefined && groupKey === previousKey) groups.at(-1)!.push(section);
    else groups.push([section]);
    previousKey = groupKey;
  }
  return groups;
}

function* sentencesOf(sections: readonly ExtractedSection[]): Generator<Unit> {
  for (const { text, code } of sections) {
    const lines = text.replace(/\r\n?/g, '\n');
    const codeIn = codeCursor(code);
    for (const piece of piecesOf(lines, code)) {
      if (piece.isCode) yield* unitsOfCode(piece);
      else for (const paragraph of paragraphsOf(piece)) yield* sentencesOfParagraph(paragraph, codeIn);
    }
  }
}

/** @returns a block of code, in lines when it is over the limit of a chunk */
function* unitsOfCode({ text }: Piece): Generator<Unit> {
  const words = wordsOfCode(text);
  if (words <= MAX_WORDS) return yield { text, words, startsParagraph: true, code: [[0, text.length]] };
  let startsParagraph = true;
  for (const [line] of text.matchAll(/[^\n]+|\n+/g)) {
    for (const part of line.startsWith('\n') ? [{ text: line, words: 0 }] : splitLong(line)) {
      yield { text: part.text, words: wordsOfCode(part.text), startsParagraph, code: [[0, part.text.length]] };
      startsParagraph = false;
    }
  }
}

function wordsOf({ text, code }: ExtractedSection): number {
  if (!code) return countWords(text);
  return [...piecesOf(text, code)].reduce(
    (sum, piece) => sum + (piece.isCode ? wordsOfCode : countWords)(piece.text),
    0,
  );
}

const wordsOfCode = (text: string) => Math.max(countWords(text), Math.ceil(text.length / CODE_PER_WORD));

function* paragraphsOf({ text, start: offset }: Piece): Generator<Piece> {
  let start = 0;
  for (const { 0: gap, index } of text.matchAll(/\n[^\S\n]*\n\s*/g)) {
    yield { text: text.slice(start, index), start: offset + start };
    start = index + gap.length;
  }
  yield { text: text.slice(start), start: offset + start };
}

function* sentencesOfParagraph({ text, start }: Piece, codeIn: ReturnType<typeof codeCursor>): Generator<Unit> {
  let startsParagraph = true;
  let at = start;
  for (const sentence of divide(text)) {
    for (const part of splitLong(sentence)) {
      const code = codeIn(at, at + part.text.length);
      at += part.text.length;
      if (part.text.trim() === '') continue;
      yield { ...part, startsParagraph, ...(code && { code }) };
      startsParagraph = false;
    }
  }
}

/** Divides a paragraph into sentences, window by window. The next window begins with the last sentence of this window. */
function* divide(paragraph: string): Generator<string> {
  // A line that continues in lower case was wrapped: its newline does not end a sentence, but stays in the text.
  const unwrapped = paragraph.replace(/\n(?=\p{Ll})/gu, ' ');
  for (let start = 0; start < paragraph.length; ) {
    const limit = Math.min(start + WINDOW, paragraph.length);
    const window = unwrapped.slice(start, limit);
    if (limit === paragraph.length && NO_END.test(window)) return yield paragraph.slice(start);
    let end = start;
    for (const { index, segment } of segmenter.segment(window)) {
      const last = index + segment.length === window.length && limit < paragraph.length;
      if (last && index > 0) break;
      end = last ? endOfWord(paragraph, start, limit) : start + index + segment.length;
      yield paragraph.slice(start + index, end);
    }
    start = end;
  }
}

/** @returns the end of the last word in the window's second half, or `end`, but not inside a surrogate pair or a Thai word */
function endOfWord(text: string, start: number, end: number): number {
  for (let index = end; index > start + (end - start) / 2; index -= 1) {
    if (/\s/.test(text[index - 1]!)) return index;
  }
  if (end < text.length && isUnspaced(text[end]!)) return startOfWord(text, Math.max(start, end - MAX_WORDS), end);
  return isLowSurrogate(text.charCodeAt(end)) ? end - 1 : end;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

/** @returns the approximate number of English words that have as many tokens as this text */
export function countWords(text: string): number {
  let words = 0;
  let letters = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const kind = code < 0x80 ? (code === 32 || (code >= 9 && code <= 13) ? SPACE : LETTER) : kindOf(text, index);
    if (kind === LETTER) letters++;
    else if (kind === SPACE) {
      words += Math.ceil(letters / LETTERS_PER_WORD);
      letters = 0;
    } else {
      words++;
      if (kind === LONG_WORD) index++;
    }
  }
  return words + Math.ceil(letters / LETTERS_PER_WORD);
}

const [LETTER, SPACE, WORD, LONG_WORD] = [1, 2, 3, 4];
/** Kinds of the characters seen so far, by code unit: patterns would take most of the time of a long text. */
const kinds = new Uint8Array(0x10000);

/** Whether the character is a word of its own (`LONG_WORD`: of two code units), space, or a letter of a word. */
function kindOf(text: string, index: number): number {
  const code = text.charCodeAt(index);
  // Scripts without spaces beyond the basic plane are Han.
  if (code >= 0xd800 && code <= 0xdbff) {
    return isUnspaced(String.fromCodePoint(text.codePointAt(index)!)) ? LONG_WORD! : LETTER!;
  }
  if (kinds[code] === 0) {
    const character = String.fromCharCode(code);
    kinds[code] = /\s/.test(character) ? SPACE! : isUnspaced(character) ? WORD! : LETTER!;
  }
  return kinds[code]!;
}

const isUnspaced = (character: string): boolean => character.search(UNSPACED) === 0;

type Part = Pick<Unit, 'text' | 'words'>;

/** Divides a sentence over the limit between words, and a word over the limit anywhere. */
function* splitLong(sentence: string): Generator<Part> {
  const total = countWords(sentence);
  if (total <= MAX_WORDS) return yield { text: sentence, words: total };
  let text = '';
  let words = 0;
  for (const [run] of sentence.matchAll(/\S+\s*|\s+/g)) {
    for (const piece of cut(run)) {
      if (words + piece.words > MAX_WORDS && text !== '') {
        yield { text, words };
        text = '';
        words = 0;
      }
      text += piece.text;
      words += piece.words;
    }
  }
  if (text !== '') yield { text, words };
}

/** Finds words in scripts without spaces by a dictionary of all of them. */
const wordSegmenter = new Intl.Segmenter('th', { granularity: 'word' });
/** Characters after a cut that decide which word it is in. */
const CONTEXT = 30;

/** @returns where the word at `end` starts, or `end` when the whole text is one word */
function startOfWord(text: string, start: number, end: number): number {
  const word = wordSegmenter.segment(text.slice(start, end + CONTEXT)).containing(end - start);
  return word && word.index > 0 ? start + word.index : end;
}

/** Divides a run without spaces that is over the limit. */
function* cut(run: string): Generator<Part> {
  const total = countWords(run);
  if (total <= MAX_WORDS) return yield { text: run, words: total };
  // A character is at most one word, so so many characters are at most so many words in any script.
  for (let start = 0; start < run.length; ) {
    let end = Math.min(start + MAX_WORDS, run.length);
    if (end < run.length && isLowSurrogate(run.charCodeAt(end))) end -= 1;
    if (end < run.length && isUnspaced(run[end]!)) end = startOfWord(run, start, end);
    const text = run.slice(start, end);
    yield { text, words: countWords(text) };
    start = end;
  }
}

/** @returns the lines of a table with their rows. A line over the limit is divided */
function* tableRowsOf({ text, rows, code: all }: ExtractedSection): Generator<Unit> {
  const codeIn = codeCursor(all);
  let at = 0;
  for (const [index, line] of text.split('\n').entries()) {
    const row = rows![index]!;
    for (const [n, part] of [...splitLong(line)].entries()) {
      const own = n === 0 && index > 0 ? `\n${part.text}` : part.text;
      const code = codeIn(at, at + own.length);
      at += own.length;
      yield { text: own, words: part.words, startsParagraph: false, row, ...(code && { code }) };
    }
  }
}

interface Packed {
  units: Unit[];
  /** Units at the start that the chunk before has too. */
  repeated: number;
}

/**
 * Fills chunks evenly: 260 words become two chunks of about 130 words, not of 250 and 10.
 * @param total words of all units
 */
function* pack(units: Iterable<Unit>, total: number, overlap: number): Generator<Packed> {
  const target = total / Math.ceil(total / MAX_WORDS);
  let chunk: Unit[] = [];
  let words = 0;
  let repeated = 0;
  let rest = total;
  for (const unit of units) {
    const full = words + unit.words > MAX_WORDS;
    const even = words + unit.words / 2 > target || (unit.startsParagraph && words > target * 0.8);
    if (chunk.length > 0 && (full || (even && words + rest > MAX_WORDS))) {
      yield { units: chunk, repeated };
      chunk = tail(chunk, Math.min(overlap, MAX_WORDS - unit.words));
      words = chunk.reduce((sum, { words: unitWords }) => sum + unitWords, 0);
      repeated = chunk.length;
    }
    chunk.push(unit);
    words += unit.words;
    rest -= unit.words;
  }
  if (chunk.length > 0) yield { units: chunk, repeated };
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

/** Puts a chunk together, and the ranges of its code with it. */
function join(units: readonly Unit[], repeated: number): Pick<Chunk, 'text' | 'code' | 'overlap'> {
  let text = '';
  let overlap = 0;
  const code: TextRange[] = [];
  for (const [at, unit] of units.entries()) {
    if (at === repeated) overlap = text.trimEnd().length;
    if (unit.startsParagraph && text !== '') text += '\n\n';
    // The first line of a block of code may be indented.
    const own = text === '' || (unit.startsParagraph && !isAllCode(unit)) ? unit.text.trimStart() : unit.text;
    const cut = unit.text.length - own.length;
    for (const [start, end] of unit.code ?? []) {
      addRange(code, [text.length + Math.max(0, start - cut), text.length + end - cut]);
    }
    text += own;
  }
  text = text.trimEnd();
  const kept = cutRanges(code, text.length);
  return { text, ...(kept.length > 0 && { code: kept }), ...(overlap > 0 && { overlap }) };
}

const isAllCode = ({ text, code }: Unit) => code?.length === 1 && code[0]![0] === 0 && code[0]![1] === text.length;
