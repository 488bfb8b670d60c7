import { eld } from 'eld/medium';

/** Fewer letters are names and exclamations, which look like any language. */
const MIN_LETTERS = 40;
/** How much better than English another language must fit. */
const MARGIN = 0.1;
/** The beginning tells the language of a text. */
const SAMPLE = 20_000;
const names = new Intl.DisplayNames(['en'], { type: 'language' });

export interface DetectedLanguages {
  /** ISO 639-1, best first, with the share of the text's letter groups that fit. */
  candidates: { language: string; confidence: number }[];
  reliable: boolean;
}

/** Which languages a text may be written in. */
export function detectLanguages(text: string): DetectedLanguages {
  const result = eld.detect(text.slice(0, SAMPLE));
  const candidates = Object.entries(result.getScores())
    .map(([language, confidence]) => ({ language, confidence: Math.min(1, confidence) }))
    .sort((a, b) => b.confidence - a.confidence);
  return { candidates, reliable: candidates.length > 0 && result.isReliable() };
}

/** @returns the name of the text's language when it is clearly not English */
export function foreignLanguage(text: string): string | null {
  const letters = text.slice(0, SAMPLE).replace(/\P{L}/gu, '').length;
  const { candidates, reliable } = detectLanguages(text);
  const [best] = candidates;
  const english = candidates.find(({ language }) => language === 'en')?.confidence ?? 0;
  const clear = best && reliable && letters >= MIN_LETTERS && best.confidence - english > MARGIN;
  return clear && best.language !== 'en' ? languageName(best.language) : null;
}

/** @returns in English: "Portuguese" */
export function languageName(language: string): string {
  return names.of(language) ?? language;
}
