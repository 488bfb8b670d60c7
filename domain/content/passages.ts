import { cutRanges } from '../text-ranges.js';
import type { Passage } from './joined-chunks.js';

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
