import { eld } from 'eld/medium';
import type { FullResult, ValidatedInput } from '../../../domain/ai-jobs/provider.js';

/** Shorter texts in Latin letters are names and exclamations, which resemble any language. */
const MIN_LETTERS = 40;
/** How much better than English another language must match. */
const MARGIN = 0.1;
/** Characters from the beginning of a text that are examined. */
const SAMPLE = 20_000;
const MAX_CANDIDATES = 5;
const languageNames = new Intl.DisplayNames(['en'], { type: 'language' });

/** Detects the language of a text among 60, by its groups of letters. */
export function analyse({ text }: ValidatedInput<'text/language_detection'>): FullResult<'text/language_detection'> {
  const { candidates, reliable, original } = detectLanguages(text);
  const output = {
    language: candidates[0]?.language ?? null,
    reliable,
    candidates: candidates.slice(0, MAX_CANDIDATES).map(({ language, confidence }) => ({
      language,
      display_name: languageName(language),
      confidence: Math.round(confidence * 10_000) / 10_000,
    })),
  };
  return { output, original };
}

/** @returns the English name of the text's language when it is clearly not English, else null */
export function nonEnglishLanguage(text: string): string | null {
  const sample = text.slice(0, SAMPLE);
  const letters = sample.replace(/\P{L}/gu, '').length;
  // Not the letters of a formula, which stand alone.
  const words = (sample.match(/\p{L}{2,}/gu) ?? []).join('');
  const latin = words.replace(/\P{Script=Latin}/gu, '').length;
  const { candidates, reliable } = detectLanguages(text);
  const [best] = candidates;
  const english = candidates.find(({ language }) => language === 'en')?.confidence ?? 0;
  const isLong = letters >= MIN_LETTERS && reliable;
  // A short text in another script is not English, and its words are unknown to the analyses. Bold letters from mathematics are no
  // other script: the few Latin letters beside them can resemble any language.
  const isForeign = (language: string) => latin * 2 < words.length && scriptOf(language) !== 'Latn';
  const clear = best && (isLong || isForeign(best.language)) && best.confidence - english > MARGIN;
  return clear && best.language !== 'en' ? languageName(best.language) : null;
}

/** @returns candidates by ISO 639-1 code, best first, with the share of the text's letter groups that match */
function detectLanguages(text: string): {
  candidates: { language: string; confidence: number }[];
  reliable: boolean;
  /** The library's own result. */
  original: { language: string; scores: Record<string, number>; reliable: boolean };
} {
  const result = eld.detect(text.slice(0, SAMPLE));
  const scores = result.getScores();
  const candidates = Object.entries(scores)
    .map(([language, confidence]) => ({ language, confidence: Math.min(1, confidence) }))
    .sort((a, b) => b.confidence - a.confidence);
  const reliable = candidates.length > 0 && result.isReliable();
  return { candidates, reliable, original: { language: result.language, scores, reliable } };
}

const scriptOf = (language: string): string | undefined => new Intl.Locale(language).maximize().script;

const languageName = (language: string): string => languageNames.of(language) ?? language;
