import model from 'wink-eng-lite-web-model';
import winkNLP from 'wink-nlp';

/** The library and its model of English, loaded once a thread (40 MB). */
export const reader = winkNLP(model, ['sbd', 'negation', 'sentiment', 'ner', 'pos']);

/** No word of a language: addresses, base64, minified code. The library takes quadratic time for them. */
const LONG_TOKEN = /\S{60,}/g;

/** @returns text of the same length, so that places in it stay what they were */
export function withoutLongTokens(text: string): string {
  return text.replace(LONG_TOKEN, (token) => ' '.repeat(token.length));
}

/** Paragraphs with their wrapped lines joined. */
export function paragraphs(text: string): string[] {
  return withoutLongTokens(text)
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(/\s+/g, ' ').trim())
    .filter((paragraph) => /\p{L}/u.test(paragraph));
}
