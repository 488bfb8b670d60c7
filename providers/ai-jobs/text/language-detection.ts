import type { Analyse } from './analyses.js';
import { detectLanguages, languageName } from './languages.js';

const CANDIDATES = 5;

/** The languages whose letter groups fit a text best, of 60. */
export const analyse: Analyse<'text/language_detection'> = ({ text }) => {
  const { candidates, reliable } = detectLanguages(text);
  return {
    language: candidates[0]?.language ?? null,
    reliable,
    candidates: candidates.slice(0, CANDIDATES).map(({ language, confidence }) => ({
      language,
      display_name: languageName(language),
      confidence: Math.round(confidence * 10_000) / 10_000,
    })),
  };
};
