import type { SubfeatureName } from '../../../domain/ai-jobs/features.js';
import type { ValidatedInput } from '../../../domain/ai-jobs/provider.js';
import { ANALYSES, type Analyse, type AnalysisName } from './analyses.js';
import { foreignLanguage } from './languages.js';

export interface TextTask {
  analysis: AnalysisName;
  input: ValidatedInput<AnalysisName>;
}
/** `foreign`: the name of a language that the analysis cannot read. */
export type TextOutcome = { output: unknown } | { foreign: string };

/** Entry point of a text thread. */
export default async function run({ analysis, input }: TextTask): Promise<TextOutcome> {
  const { reads, load } = ANALYSES[analysis];
  const foreign = reads === 'english' ? foreignLanguage(input.text) : null;
  if (foreign) return { foreign };
  const { analyse } = await load();
  return { output: (analyse as Analyse<SubfeatureName>)(input) };
}
