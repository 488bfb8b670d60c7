import type { SubfeatureName } from '../../../domain/ai-jobs/features.js';
import type { FullResult, ValidatedInput } from '../../../domain/ai-jobs/provider.js';

interface Analysis<S extends SubfeatureName> {
  /** Third part of the job's `model`: the library that is used. */
  name: string;
  /** The languages that it can read. */
  reads: 'english' | 'any';
  /** Loads its module, in its process only and with the first text. The text is within the limit and not empty. */
  load(): Promise<{ analyse: (input: ValidatedInput<S>) => FullResult<S> }>;
}

/** The text analyses that need no server: pure functions, one module each, run in a child process. */
export const ANALYSES = {
  'text/language_detection': { name: 'eld', reads: 'any', load: () => import('./languages.js') },
  'text/sentiment_analysis': { name: 'wink', reads: 'english', load: () => import('./sentiment.js') },
  'text/named_entity_recognition': { name: 'wink', reads: 'english', load: () => import('./named-entities.js') },
  'text/keyword_extraction': { name: 'wink', reads: 'english', load: () => import('./keywords.js') },
  'text/summarize': { name: 'wink', reads: 'english', load: () => import('./summarize.js') },
} as const satisfies { [S in SubfeatureName]?: Analysis<S> };
export type AnalysisName = keyof typeof ANALYSES;

export interface TextTask {
  analysis: AnalysisName;
  input: ValidatedInput<AnalysisName>;
  /** Whether the library's own result is needed too. */
  original: boolean;
}
export type TextOutcome = { output: unknown; original?: unknown } | { unsupportedLanguage: string };

/** The work of a text process. */
export default async function run({ analysis, input, original }: TextTask): Promise<TextOutcome> {
  const { reads, load } = ANALYSES[analysis];
  if (reads === 'english') {
    const { nonEnglishLanguage } = await import('./languages.js');
    const unsupportedLanguage = nonEnglishLanguage(input.text);
    if (unsupportedLanguage) return { unsupportedLanguage };
  }
  const { analyse } = await load();
  const result = (analyse as (input: TextTask['input']) => FullResult<AnalysisName>)(input);
  return original ? result : { output: result.output };
}
