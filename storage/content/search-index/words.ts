import type { TextRange } from '../../../domain/text-ranges.js';

/** Characters of scripts that are searched by pairs of characters, because words have no spaces or many endings between them. */
const PAIRED =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}ー';
const TOKEN = new RegExp(`[${PAIRED}][${PAIRED}\\p{M}]*|(?:(?![${PAIRED}])[\\p{L}\\p{M}\\p{N}])+`, 'gu');
const IS_PAIRED = new RegExp(`^[${PAIRED}]`, 'u');
const CHARACTER = /[^\p{M}]\p{M}*|\p{M}/gu;
/** Longer words are codes and data, which nobody searches for. */
const MAX_LENGTH = 40;

/**
 * @returns the words of a text and its runs (`isRun`) in order, in lower case and compatibility form, as "ﬁ" and "ｶﾞ" become "fi"
 * and "ガ"
 */
export function tokensOf(text: string): string[] {
  const tokens: string[] = text.toLowerCase().normalize('NFKC').match(TOKEN) ?? [];
  return tokens.filter((token) => isRun(token) || token.length <= MAX_LENGTH);
}

/** A character with the marks that NFKC composes with it: accents, voice marks of half-width Katakana, parts of Hangul. */
const COMPOSED = /[\s\S][\p{M}\uff9e\uff9f\u1160-\u11ff]*/gu;

/** Matches between two pauses. */
const MATCHES = 500;

/** A text as `tokensOf` reads it, its tokens in order, and the place in the text of a part of what was read. */
export interface ReadText extends NormalForm {
  /** Words of any length, and runs (`isRun`). */
  tokens: readonly string[];
}

/** @param pause awaited now and then: a passage of many chunks can have hundreds of thousands of characters */
export async function readText(text: string, pause: () => Promise<void>): Promise<ReadText> {
  const form = await normalForm(text, pause);
  return { ...form, tokens: form.normal.match(TOKEN) ?? [] };
}

/** Whether a token is a run of characters of a script that is searched by pairs. */
export const isRun = (token: string) => IS_PAIRED.test(token);

/** @returns the characters of a run, each with its marks */
export const charactersOf = (run: string): string[] => run.match(CHARACTER)!;

interface NormalForm {
  normal: string;
  /** The place of a part of it in the text. */
  placeOf(start: number, end: number): TextRange;
}

/** @returns a text as `tokensOf` reads it */
async function normalForm(text: string, pause: () => Promise<void>): Promise<NormalForm> {
  const lower = text.toLowerCase();
  // "İ" becomes two characters.
  const read = lower.length === text.length ? lower : text;
  if (read === lower && lower.normalize('NFKC') === lower) {
    return { normal: lower, placeOf: (start, end) => [start, end] };
  }
  const pieces: string[] = [];
  const places: TextRange[] = [];
  let matches = 0;
  for (const { 0: piece, index } of read.matchAll(COMPOSED)) {
    if (++matches % MATCHES === 0) await pause();
    const form = piece.toLowerCase().normalize('NFKC');
    for (let at = 0; at < form.length; at++) places.push([index, index + piece.length]);
    pieces.push(form);
  }
  return { normal: pieces.join(''), placeOf: (start, end) => [places[start]![0], places[end - 1]![1]] };
}

/** @returns the terms of a run in the index: each character, followed by its pair with the next character */
export function indexedCharacters(characters: readonly string[]): string[] {
  return characters.flatMap((character, at) =>
    at + 1 < characters.length ? [character, character + characters[at + 1]] : [character],
  );
}

/** @returns the terms of a run in a query: its pairs, or its only character */
export function searchedCharacters(characters: readonly string[]): string[] {
  return characters.length === 1 ? [...characters] : characters.slice(1).map((next, at) => characters[at] + next);
}

/** A noun whose ending takes an "s" before the next noun of a compound, and what follows. */
const FIRST_NOUN = /^(.{2,30}?(?:ung|heit|keit|schaft|ion|tät|tum|ling))s(.{3,40})$/;

/**
 * @returns the nouns of a German compound with a joining "s", as "zahlungseingang" has "zahlung" and "eingang"; none for other
 * words, because compounds without that "s" could only be divided with a dictionary
 */
export function nounsOf(word: string): string[] {
  const [, first, rest] = FIRST_NOUN.exec(word) ?? [];
  return first === undefined || rest === undefined ? [] : [first, rest, ...nounsOf(rest)];
}
