import { eld } from 'eld/medium';
import type { FeatureOutput } from '../../../domain/ai-jobs/features.js';
import type { ValidatedInput } from '../../../domain/ai-jobs/provider.js';

/** Shorter texts are names and exclamations, which resemble any language. */
const MIN_LETTERS = 40;
/** How much better than English another language must match. */
const MARGIN = 0.1;
/** Characters from the beginning of a text that are examined. */
const SAMPLE = 20_000;
const MAX_CANDIDATES = 5;
const languageNames = new Intl.DisplayNames(['en'], { type: 'language' });

/** Detects the language of a text among 60, by its groups of letters. */
export function analyse({ text }: ValidatedInput<'text/language_detection'>): FeatureOutput<'text/language_detection'> {
  const { candidates, reliable } = detectLanguages(text);
  return {
    language: candidates[0]?.language ?? null,
    reliable,
    candidates: candidates.slice(0, MAX_CANDIDATES).map(({ language, confidence }) => ({
      language,
      display_name: languageName(language),
      confidence: Math.round(confidence * 10_000) / 10_000,
    })),
  };
}

/** @returns the English name of the text's language when it is clearly not English, else null */
export function nonEnglishLanguage(text: string): string | null {
  const letters = text.slice(0, SAMPLE).replace(/\P{L}/gu, '').length;
  const { candidates, reliable } = detectLanguages(text);
  const [best] = candidates;
  const english = candidates.find(({ language }) => language === 'en')?.confidence ?? 0;
  const clear = best && reliable && letters >= MIN_LETTERS && best.confidence - english > MARGIN;
  return clear && best.language !== 'en' ? languageName(best.language) : null;
}

/** @returns candidates by ISO 639-1 code, best first, with the share of the text's letter groups that match */
function detectLanguages(text: string): { candidates: { language: string; confidence: number }[]; reliable: boolean } {
  const result = eld.detect(text.slice(0, SAMPLE));
  const candidates = Object.entries(result.getScores())
    .map(([language, confidence]) => ({ language, confidence: Math.min(1, confidence) }))
    .sort((a, b) => b.confidence - a.confidence);
  return { candidates, reliable: candidates.length > 0 && result.isReliable() };
}

const languageName = (language: string): string => languageNames.of(language) ?? language;
