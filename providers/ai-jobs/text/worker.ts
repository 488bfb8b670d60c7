import type { FullResult, ValidatedInput } from '../../../domain/ai-jobs/provider.js';
import { ANALYSES, type AnalysisName } from './analyses.js';
import { nonEnglishLanguage } from './languages.js';

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
  const unsupportedLanguage = reads === 'english' ? nonEnglishLanguage(input.text) : null;
  if (unsupportedLanguage) return { unsupportedLanguage };
  const { analyse } = await load();
  const result = (analyse as (input: TextTask['input']) => FullResult<AnalysisName>)(input);
  return original ? result : { output: result.output };
}
