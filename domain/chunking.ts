import type { ExtractedSection } from './extraction.js';

/** A stretch of a document that is embedded, indexed and answered with as one. */
export interface Chunk {
  /** Place in the document, from 0. */
  ordinal: number;
  text: string;
  headings: string[];
  page?: number;
  sheet?: string;
}

export interface ChunkingOptions {
  /** About 1.3 tokens a word, up to 1.7 in technical text, and title and headings come on top: 250 words stay within a model's 512 tokens. */
  maxWords?: number;
  /** Words that a chunk repeats from the end of the one before it, whole sentences only. */
  overlap?: number;
}

interface Sentence {
  text: string;
  words: number;
  startsParagraph: boolean;
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
 * Cuts an extraction into chunks of about equal size at ends of sentences, rather at ends of paragraphs. A chunk never
 * spans two pages, sheets or headings, so it can say where it stands. Same input, same chunks: their ids depend on it.
 */
export function chunkSections(
  extraction: { title: string | null; sections: readonly ExtractedSection[] },
  { maxWords = 250, overlap = 40 }: ChunkingOptions = {},
): Chunk[] {
  const chunks: Chunk[] = [];
  for (const group of neighbours(extraction.sections)) {
    const { headings, page, sheet } = group[0]!;
    const sentences = group.flatMap(({ text }) => sentencesOf(text, maxWords));
    for (const text of pack(sentences, maxWords, overlap)) {
      chunks.push({
        ordinal: chunks.length,
        text,
        headings: [...headings],
        ...(page === undefined ? {} : { page }),
        ...(sheet === undefined ? {} : { sheet }),
      });
    }
  }
  return chunks;
}

/** What full text and embeddings see of a chunk: its title and headings are often what a question asks for. */
export function searchableText(title: string | null, chunk: { text: string; headings: readonly string[] }): string {
  const labels = [title ?? '', chunk.headings.join(' > ')].map((label) => label.trim().slice(0, MAX_LABEL));
  return [...new Set(labels.filter((label) => label !== '')), chunk.text].join('\n');
}

/** Sections that follow each other under the same headings, on the same page and sheet, are one text. */
function neighbours(sections: readonly ExtractedSection[]): ExtractedSection[][] {
  const groups: ExtractedSection[][] = [];
  let place: string | undefined;
  for (const section of sections) {
    const its = JSON.stringify([section.headings, section.page, section.sheet]);
    if (its === place) groups.at(-1)!.push(section);
    else groups.push([section]);
    place = its;
  }
  return groups;
}

function sentencesOf(text: string, maxWords: number): Sentence[] {
  const sentences: Sentence[] = [];
  for (const paragraph of text.replace(/\r\n?/g, '\n').split(/\n[^\S\n]*\n\s*/)) {
    let startsParagraph = true;
    for (const piece of pieces(paragraph)) {
      // A line that goes on in lower case was only wrapped: the newline ends no sentence, yet stays in the text.
      const unwrapped = piece.replace(/\n(?=\p{Ll})/gu, ' ');
      for (const { index, segment } of segmenter.segment(unwrapped)) {
        for (const part of splitLong(piece.slice(index, index + segment.length), maxWords)) {
          if (part.trim() === '') continue;
          sentences.push({ text: part, words: wordsIn(part), startsParagraph });
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
function wordsIn(text: string): number {
  let words = 0;
  for (const run of text.match(/\S+/g) ?? []) {
    const unspaced = run.match(UNSPACED)?.length ?? 0;
    words += unspaced + Math.ceil((run.length - unspaced) / LETTERS_A_WORD);
  }
  return words;
}

/** A sentence over the limit, cut between words; a word over the limit, cut anywhere. */
function* splitLong(sentence: string, maxWords: number): Generator<string> {
  if (wordsIn(sentence) <= maxWords) return yield sentence;
  let part = '';
  let words = 0;
  for (const [run] of sentence.matchAll(/\S+\s*|\s+/g)) {
    for (const bit of wordsIn(run) > maxWords ? cut(run, maxWords) : [run]) {
      const its = wordsIn(bit);
      if (words + its > maxWords && part !== '') {
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

/** Fills chunks evenly: 260 words become two of about 130, and not 250 and a rest of 10. */
function pack(sentences: readonly Sentence[], maxWords: number, overlap: number): string[] {
  const total = sentences.reduce((sum, { words }) => sum + words, 0);
  const target = total / Math.ceil(total / maxWords);
  const texts: string[] = [];
  let chunk: Sentence[] = [];
  let words = 0;
  for (const sentence of sentences) {
    const full = words + sentence.words > maxWords || words + sentence.words / 2 > target;
    if (chunk.length > 0 && (full || (sentence.startsParagraph && words > target * 0.8))) {
      texts.push(join(chunk));
      chunk = tail(chunk, Math.min(overlap, maxWords - sentence.words));
      words = chunk.reduce((sum, each) => sum + each.words, 0);
    }
    chunk.push(sentence);
    words += sentence.words;
  }
  if (chunk.length > 0) texts.push(join(chunk));
  return texts;
}

/** The last whole sentences of a chunk within so many words, never all of it. */
function tail(chunk: readonly Sentence[], words: number): Sentence[] {
  let from = chunk.length;
  let left = words;
  while (from > 1 && chunk[from - 1]!.words <= left) {
    from -= 1;
    left -= chunk[from]!.words;
  }
  return chunk.slice(from);
}

function join(sentences: readonly Sentence[]): string {
  return sentences
    .map(({ text, startsParagraph }) => (startsParagraph ? `\n\n${text.trimStart()}` : text))
    .join('')
    .trim();
}
