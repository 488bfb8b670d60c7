import type { FeatureOutput, SubfeatureName } from '../../../domain/ai-jobs/features.js';
import type { ValidatedInput } from '../../../domain/ai-jobs/provider.js';

/** An analysis of a text: a pure function of the input, run in a thread. @param input its text is within the limit and not empty */
export type Analyse<S extends SubfeatureName> = (input: ValidatedInput<S>) => FeatureOutput<S>;

interface Analysis<S extends SubfeatureName> {
  /** Third part of the job's `model`: the library that does it. */
  name: string;
  /** The languages it can read. */
  reads: 'english' | 'any';
  /** Loaded when its first text comes, and in the thread only. */
  load(): Promise<{ analyse: Analyse<S> }>;
}

/** The analyses of text that need no outside service, one file each. */
export const ANALYSES = {
  'text/language_detection': { name: 'eld', reads: 'any', load: () => import('./language-detection.js') },
  'text/sentiment_analysis': { name: 'wink', reads: 'english', load: () => import('./sentiment.js') },
  'text/named_entity_recognition': { name: 'wink', reads: 'english', load: () => import('./named-entities.js') },
  'text/keyword_extraction': { name: 'wink', reads: 'english', load: () => import('./keywords.js') },
  'text/summarize': { name: 'wink', reads: 'english', load: () => import('./summarize.js') },
} as const satisfies { [S in SubfeatureName]?: Analysis<S> };
export type AnalysisName = keyof typeof ANALYSES;
