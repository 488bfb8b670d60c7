import type { ExtractedSection, Place } from '../extraction.js';

/** A stretch of a document that is embedded, indexed and answered with as one. */
export interface Chunk extends Place {
  /** Which of the document's chunks it is, from 0. */
  ordinal: number;
  text: string;
  headings: string[];
  /** First and last row of a table. */
  rows?: [number, number];
}

/**
 * Of one chunk. About 1.3 tokens a word, up to 1.7 in technical text, and title and headings come on top: so it stays
 * within a model's 512 tokens.
 */
const MAX_WORDS = 250;
/** Words that a chunk repeats from the end of the one before it, whole sentences only. */
const OVERLAP = 40;

/** What a chunk is made of, and is not cut within: a sentence, or a line of a table. */
interface Unit {
  text: string;
  words: number;
  startsParagraph: boolean;
  /** Of a table. */
  row?: number;
}

/** A run of letters without a space counts as one word for each this many of them: URLs and code are many tokens. */
const LETTERS_A_WORD = 12;
/** Longer paragraphs are segmented piece by piece: the segmenter's time grows faster than its input. */
const MAX_SEGMENTED = 16_384;
const MAX_LABEL = 300;
/** Characters of scripts that put no spaces between words; each counts, and is searched, as a word. */
export const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu;

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

/**
 * Cuts an extraction into chunks of about equal size at ends of sentences, rather at ends of paragraphs, and tables between
 * their rows. A chunk never spans two pages, sheets, tables or headings, so it can say where it stands.
 * Same input, same chunks: their ids depend on it.
 */
export function chunkSections(extraction: { title: string | null; sections: readonly ExtractedSection[] }): Chunk[] {
  const chunks: Chunk[] = [];
  for (const group of neighbours(extraction.sections)) {
    const { text: _, rows, headings, ...place } = group[0]!;
    const packed = rows
      ? pack(rowsOf(group[0]!), 0)
      : pack(
          group.flatMap(({ text }) => sentencesOf(text)),
          OVERLAP,
        );
    for (const units of packed) {
      const { row } = units[0]!;
      const range = row === undefined ? {} : { rows: [row, units.at(-1)!.row!] as [number, number] };
      chunks.push({ ordinal: chunks.length, text: join(units), headings: [...headings], ...place, ...range });
    }
  }
  return chunks;
}

/** What full text and embeddings see of a chunk: its title, sheet and headings are often what a question asks for. */
export function searchableText(
  title: string | null,
  chunk: { text: string; headings: readonly string[]; sheet?: string | null },
): string {
  const labels = [title ?? '', chunk.sheet ?? '', chunk.headings.join(' > ')].map((label) =>
    label.trim().slice(0, MAX_LABEL),
  );
  return [...new Set(labels.filter((label) => label !== '')), chunk.text].join('\n');
}

/** Sections that follow each other under the same headings, on the same page or slide, are one text; a table is one alone. */
function neighbours(sections: readonly ExtractedSection[]): ExtractedSection[][] {
  const groups: ExtractedSection[][] = [];
  let place: string | undefined;
  for (const section of sections) {
    const { text: _, rows, ...where } = section;
    const its = rows ? undefined : JSON.stringify(where);
    if (its !== undefined && its === place) groups.at(-1)!.push(section);
    else groups.push([section]);
    place = its;
  }
  return groups;
}

function sentencesOf(text: string): Unit[] {
  const sentences: Unit[] = [];
  for (const paragraph of text.replace(/\r\n?/g, '\n').split(/\n[^\S\n]*\n\s*/)) {
    let startsParagraph = true;
    for (const piece of pieces(paragraph)) {
      // A line that goes on in lower case was only wrapped: the newline ends no sentence, yet stays in the text.
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

/** The last white space of the window's second half, or `end` kept off the middle of a surrogate pair. */
function endOfWord(text: string, start: number, end: number): number {
  for (let at = end; at > start + (end - start) / 2; at -= 1) if (/\s/.test(text[at - 1]!)) return at;
  return isLowSurrogate(text.charCodeAt(end)) ? end - 1 : end;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

/** About how many words of English take as many tokens as this text. */
export function countWords(text: string): number {
  let words = 0;
  for (const run of text.match(/\S+/g) ?? []) {
    const unspaced = run.match(UNSPACED)?.length ?? 0;
    words += unspaced + Math.ceil((run.length - unspaced) / LETTERS_A_WORD);
  }
  return words;
}

/** A sentence over the limit, cut between words; a word over the limit, cut anywhere. */
function* splitLong(sentence: string): Generator<string> {
  if (countWords(sentence) <= MAX_WORDS) return yield sentence;
  let part = '';
  let words = 0;
  for (const [run] of sentence.matchAll(/\S+\s*|\s+/g)) {
    for (const bit of countWords(run) > MAX_WORDS ? cut(run, MAX_WORDS) : [run]) {
      const its = countWords(bit);
      if (words + its > MAX_WORDS && part !== '') {
        yield part;
        part = '';
        words = 0;
      }
      part += bit;
      words += its;
    }
  }
  if (part !== '') yield part;
}

function* cut(run: string, size: number): Generator<string> {
  // At most one word a character, so this many characters are at most `size` words in any script.
  for (let start = 0; start < run.length; ) {
    let end = Math.min(start + size, run.length);
    if (end < run.length && end - start > 1 && isLowSurrogate(run.charCodeAt(end))) end -= 1;
    yield run.slice(start, end);
    start = end;
  }
}

/** The lines of a table, each with its row; one over the limit is cut all the same. */
function rowsOf({ text, rows }: ExtractedSection): Unit[] {
  return text.split('\n').flatMap((line, at) =>
    [...splitLong(line)].map((part, n) => ({
      text: n === 0 && at > 0 ? `\n${part}` : part,
      words: countWords(part),
      startsParagraph: false,
      row: rows![at]!,
    })),
  );
}

/** Fills chunks evenly: 260 words become two of about 130, and not 250 and a rest of 10. */
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
      words = chunk.reduce((sum, each) => sum + each.words, 0);
    }
    chunk.push(unit);
    words += unit.words;
  }
  if (chunk.length > 0) chunks.push(chunk);
  return chunks;
}

/** The last whole units of a chunk within so many words, never all of it. */
function tail(chunk: readonly Unit[], words: number): Unit[] {
  let from = chunk.length;
  let left = words;
  while (from > 1 && chunk[from - 1]!.words <= left) {
    from -= 1;
    left -= chunk[from]!.words;
  }
  return chunk.slice(from);
}

function join(units: readonly Unit[]): string {
  return units
    .map(({ text, startsParagraph }) => (startsParagraph ? `\n\n${text.trimStart()}` : text))
    .join('')
    .trim();
}
