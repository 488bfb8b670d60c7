import type { OcrLanguage } from '../../../../domain/ocr-languages.js';
import { readFields } from '../../../protobuf.js';

/** The characters that a model may find, by the number of their probability. The blank is empty. */
export type Alphabet = ReadonlyMap<number, string>;

/** Field numbers of onnx.proto. */
const [METADATA, KEY, VALUE] = [14, 1, 2];
/** "No character here", which also parts two that are the same. */
const BLANK = 0;
/** Letters, digits and signs of the languages that are written in Latin letters. */
const LATIN = /^[\u0020-\u024f\u1e00-\u1eff\u2010-\u203a\u20a0-\u20bf№™−]$/u;

/** The languages of which the model knows all letters, and whether Latin letters are all of them. */
const LANGUAGES: Partial<Record<OcrLanguage, 'latin' | 'all'>> = {
  de: 'latin',
  en: 'latin',
  es: 'latin',
  fr: 'latin',
  it: 'latin',
  nl: 'latin',
  pl: 'latin',
  pt: 'latin',
  tr: 'latin',
  ja: 'all',
  zh: 'all',
};

export const knowsLanguage = (language: OcrLanguage): boolean => LANGUAGES[language] !== undefined;

/**
 * Reads the characters that a model knows from its file, without those of other scripts than the language's: of a bad scan,
 * it would take some letters for Chinese.
 */
export function alphabetOf(model: Buffer, language: OcrLanguage): Alphabet {
  // The space is the last one, and not in the list.
  const known = [...metadataOf(model, 'character').split('\n'), ' '];
  const wanted = known
    .map((character, at) => [at + 1, character] as const)
    .filter(([, character]) => LANGUAGES[language] === 'all' || LATIN.test(character));
  return new Map([[BLANK, ''], ...wanted]);
}

/** @throws Error when the model has no such entry */
function metadataOf(model: Buffer, key: string): string {
  for (const { number, value } of readFields(model)) {
    if (number !== METADATA) continue;
    const entry = new Map(readFields(value as Buffer).map((field) => [field.number, String(field.value)]));
    if (entry.get(KEY) === key) return entry.get(VALUE)!;
  }
  throw new Error(`the model has no ${key}`);
}
