import { tokenize } from '@lancedb/lancedb';
import type { TextLanguage } from '../../../domain/content/languages.js';
import { BY_ENDINGS, isByEndings, type LanguageByEndings } from './endings.js';

/** The names of LanceDB's stemmers and lists of stop words. */
const NAMES: Record<Exclude<TextLanguage, LanguageByEndings | 'other'>, string> = {
  ar: 'Arabic',
  da: 'Danish',
  de: 'German',
  el: 'Greek',
  en: 'English',
  es: 'Spanish',
  fi: 'Finnish',
  fr: 'French',
  hu: 'Hungarian',
  it: 'Italian',
  nl: 'Dutch',
  no: 'Norwegian',
  pt: 'Portuguese',
  ro: 'Romanian',
  ru: 'Russian',
  sv: 'Swedish',
  ta: 'Tamil',
  tr: 'Turkish',
};
/** Words of each language whose stems are kept; a text repeats most of its words. */
const KEPT = 10_000;
/** Accents of Latin, Greek and Cyrillic letters. Marks of other scripts are letters. */
const ACCENTS = /[\u0300-\u036f]/g;

export type Stemmer = ReturnType<typeof createStemmer>;

/** @returns a function that reduces words to stems without accents, by word, with those of others; '' for stop words */
export function createStemmer() {
  const kept = new Map<TextLanguage, Map<string, string>>();

  return async (words: ReadonlySet<string>, language: TextLanguage): Promise<ReadonlyMap<string, string>> => {
    if (isByEndings(language)) {
      return new Map([...words].map((word) => [word, withoutAccents(BY_ENDINGS[language](word))]));
    }
    const known = kept.get(language) ?? new Map<string, string>();
    const missing = [...words].filter((word) => !known.has(word));
    if (missing.length === 0) return known;
    const found = new Map(missing.map((word) => [word, '']));
    for (const { text, position } of await tokenize(missing.join(' '), settingsFor(language))) {
      found.set(missing[position]!, withoutAccents(text));
    }
    // A full map is replaced, not cleared: others may still read it.
    const hasRoom = known.size + missing.length <= KEPT;
    const stems = hasRoom ? known : new Map([...words].map((word) => [word, known.get(word) ?? '']));
    for (const [word, stem] of found) stems.set(word, stem);
    kept.set(language, stems);
    return stems;
  };
}

function withoutAccents(text: string): string {
  return text.normalize('NFD').replace(ACCENTS, '').normalize('NFC');
}

function settingsFor(language: Exclude<TextLanguage, LanguageByEndings>) {
  const settings = { baseTokenizer: 'whitespace', maxTokenLength: 1_000, lowercase: true, asciiFolding: true } as const;
  if (language === 'other') return { ...settings, stem: false, removeStopWords: false };
  return { ...settings, language: NAMES[language], stem: true, removeStopWords: true };
}
