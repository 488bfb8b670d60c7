import { moveRanges, type TextRange } from '../text-ranges.js';

/** A chunk as a passage needs it. */
export interface PassageChunk {
  _id: string;
  text: string;
  headings: readonly string[];
  code?: readonly TextRange[];
  rows?: readonly [number, number];
  /** Characters at the start that repeat the end of the chunk before. */
  overlap?: number;
}

/** Consecutive chunks of a document as one text. */
export interface Passage {
  chunk_ids: string[];
  text: string;
  /** The parts of the text that are code. */
  code: TextRange[];
  /** The parts of the text that were found. The others are their neighbours. */
  hits: TextRange[];
  /** Whether the end of the text was left out. */
  truncated?: boolean;
}

/** Joins consecutive chunks, without what they repeat of each other. The heading of a chunk stands before it where it changes. */
export function joinChunks(chunks: readonly PassageChunk[], isHit: (chunk: PassageChunk) => boolean): Passage {
  const passage: Passage = { chunk_ids: [], text: '', code: [], hits: [] };
  let above: PassageChunk | undefined;
  for (const chunk of chunks) {
    const { text, code = [], overlap = 0 } = chunk;
    if (above && overlap === 0) passage.text += gapBetween(above, chunk);
    const start = passage.text.length - overlap;
    passage.text += text.slice(overlap);
    passage.chunk_ids.push(chunk._id);
    for (const range of moveRanges(code, start)) addRange(passage.code, range);
    if (isHit(chunk)) addRange(passage.hits, [start, passage.text.length]);
    above = chunk;
  }
  return passage;
}

function gapBetween(above: PassageChunk, below: PassageChunk): string {
  const heading = below.headings.at(-1);
  if (heading !== undefined && below.headings.join('\n') !== above.headings.join('\n')) return `\n\n${heading}\n\n`;
  return above.rows && below.rows ? '\n' : '\n\n';
}

/** Adds a range after others, and joins it to the last if they meet. */
function addRange(ranges: TextRange[], [start, end]: TextRange): void {
  const last = ranges.at(-1);
  if (last && start <= last[1]) last[1] = Math.max(last[1], end);
  else ranges.push([start, end]);
}

/** UTF-8 bytes per token of a language model. English has more, code and other languages have fewer. */
const BYTES_PER_TOKEN = 3.5;

/** @returns the approximate number of tokens of a text, for language models of any kind */
export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/**
 * Takes passages in order until the budget is used up. Of the first that does not fit, the hit alone is taken, and of that as
 * many sentences as fit.
 * @param alone the passage of a hit without its neighbours
 */
export function withinBudget<P extends Passage>(passages: readonly P[], tokens: number, alone: (passage: P) => P): P[] {
  const taken: P[] = [];
  let left = tokens;
  for (const passage of passages) {
    const fitting = countTokens(passage.text) <= left ? passage : cutToBudget(alone(passage), left, taken.length === 0);
    if (fitting) taken.push(fitting);
    if (fitting !== passage) break;
    left -= countTokens(passage.text);
  }
  return taken;
}

/** @param always whether to cut inside a sentence when no sentence fits @returns undefined when nothing fits */
function cutToBudget<P extends Passage>(passage: P, tokens: number, always: boolean): P | undefined {
  const { text } = passage;
  if (countTokens(text) <= tokens) return passage;
  const end = lengthWithin(text, tokens);
  const kept = endOfSentence(text, end) || (always ? endOfWord(text, end) : 0);
  if (kept === 0) return undefined;
  return {
    ...passage,
    text: text.slice(0, kept),
    code: cutRanges(passage.code, kept),
    hits: cutRanges(passage.hits, kept),
    truncated: true,
  };
}

/** @returns the length of the longest beginning with so many tokens, at the end of a character */
function lengthWithin(text: string, tokens: number): number {
  const bytes = Math.floor(tokens * BYTES_PER_TOKEN);
  return new TextEncoder().encodeInto(text, new Uint8Array(bytes)).read;
}

/** @returns the end of the last sentence or line that ends before `end`; 0 for none */
function endOfSentence(text: string, end: number): number {
  let kept = 0;
  for (const { index, 0: mark } of text
    .slice(0, end + 1)
    .matchAll(/[.!?…]["'”’»)\]]{0,3}(?=\s)|[。！？]|[^\s](?=\n)/gu))
    if (index + mark.length <= end) kept = index + mark.length;
  return kept;
}

function endOfWord(text: string, end: number): number {
  const word = text.slice(0, end).search(/\s\S*$/);
  return word > 0 ? word : end;
}

function cutRanges(ranges: readonly TextRange[], end: number): TextRange[] {
  return ranges.flatMap(([from, to]): TextRange[] => (from < end ? [[from, Math.min(to, end)]] : []));
}
