/**
 * Languages whose words full-text search reduces to stems, by ISO 639-1 code. Words of `other` languages are compared as they
 * are written.
 */
export const TEXT_LANGUAGES = [
  'en',
  'ar',
  'da',
  'de',
  'el',
  'es',
  'fi',
  'fr',
  'hi',
  'hu',
  'it',
  'nl',
  'no',
  'pl',
  'pt',
  'ro',
  'ru',
  'sv',
  'ta',
  'tr',
  'uk',
  'other',
] as const;

export type TextLanguage = (typeof TEXT_LANGUAGES)[number];

/** The language of texts that are too short to detect another one. */
export const DEFAULT_LANGUAGE: TextLanguage = 'en';

/** @returns whether a code is in the list; other codes are `other` */
export function isTextLanguage(code: string): code is TextLanguage {
  return (TEXT_LANGUAGES as readonly string[]).includes(code);
}
