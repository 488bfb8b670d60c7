/** Reading of English text, shared by the analyses. */
import model from 'wink-eng-lite-web-model';
import winkNLP from 'wink-nlp';

/** The library and its English model, loaded once per process (40 MB). */
export const nlp = winkNLP(model, ['sbd', 'negation', 'sentiment', 'ner', 'pos']);

/** Tokens that are not words: addresses, base64, minified code. The library takes quadratic time for them. */
const LONG_TOKEN = /\S{60,}/g;

/** @returns a text of the same length, so that offsets stay valid */
export function withoutLongTokens(text: string): string {
  return text.replace(LONG_TOKEN, (token) => ' '.repeat(token.length));
}

/** The paragraphs of a text with their lines joined. */
export function paragraphs(text: string): string[] {
  return withoutLongTokens(text)
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(/\s+/g, ' ').trim())
    .filter((paragraph) => /\p{L}/u.test(paragraph));
}

/** A range of a text, in UTF-16 code units; `end` is exclusive. */
export interface Span {
  start: number;
  end: number;
}

/** Finds a phrase as whole words, with any white space between them. @param flags `i` to ignore case */
export function occurrences(text: string, phrase: string, flags = ''): Span[] {
  const words = phrase.trim().split(/\s+/).map(escapeRegExp);
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])${words.join('\\s+')}(?![\\p{L}\\p{N}])`, `gu${flags}`);
  return Array.from(text.matchAll(pattern), (match) => ({ start: match.index, end: match.index + match[0].length }));
}

const escapeRegExp = (word: string) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
