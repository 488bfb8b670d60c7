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
