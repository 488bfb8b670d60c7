import type { ValidatedInput } from '../../../domain/ai-jobs/provider.js';
import { ANALYSES, type AnalysisName } from './analyses.js';
import { nonEnglishLanguage } from './languages.js';

export interface TextTask {
  analysis: AnalysisName;
  input: ValidatedInput<AnalysisName>;
}
export type TextOutcome = { output: unknown } | { unsupportedLanguage: string };

/** The work of a text process. */
export default async function run({ analysis, input }: TextTask): Promise<TextOutcome> {
  const { reads, load } = ANALYSES[analysis];
  const unsupportedLanguage = reads === 'english' ? nonEnglishLanguage(input.text) : null;
  if (unsupportedLanguage) return { unsupportedLanguage };
  const { analyse } = await load();
  return { output: (analyse as (input: TextTask['input']) => unknown)(input) };
}
