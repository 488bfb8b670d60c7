import { DEFAULT_LANGUAGE, isTextLanguage, type TextLanguage } from '../../domain/content/languages.js';

/** @returns the language of a text, or `fallback` when the text does not show it */
export type DetectLanguage = (text: string, fallback?: TextLanguage) => TextLanguage;

/** Characters that are examined: more do not change the result. */
const SAMPLE = 600;
/** How much better than English another language must match. Names and exclamations resemble any language. */
const MARGIN = 0.1;
/** Among languages that match almost equally, one with stems is better than one without: related languages share endings. */
const TIE = 0.02;
/** Languages whose words are compared by their characters. Other words in their texts are mostly English. */
const BY_CHARACTERS = /^(zh|ja|ko|th|lo|km|my)$/;

let loading: Promise<DetectLanguage> | undefined;

/** Loads the detector at first use: its frequencies of letter groups take about 60 MB. */
export function loadLanguageDetector(): Promise<DetectLanguage> {
  loading ??= import('eld/extrasmall').then(({ eld }) => (text, fallback = DEFAULT_LANGUAGE) => {
    const detected = eld.detect(text.slice(0, SAMPLE));
    if (!detected.isReliable()) return fallback;
    return choose(detected.getScores()) ?? fallback;
  });
  return loading;
}

/** @param scores by ISO 639-1 code, from 0 to 1 */
function choose(scores: Readonly<Record<string, number>>): TextLanguage | undefined {
  const ranked = Object.entries(scores).sort(([, a], [, b]) => b - a);
  const [best] = ranked;
  if (!best) return undefined;
  const [language] = ranked.find(([code, score]) => isTextLanguage(code) && best[1] - score <= TIE) ?? best;
  if (language === 'en' || BY_CHARACTERS.test(language)) return 'en';
  if (best[1] - (scores.en ?? 0) <= MARGIN) return undefined;
  return isTextLanguage(language) ? language : 'other';
}
