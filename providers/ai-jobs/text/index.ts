import type { AiProvider, ProviderResult } from '../../../domain/ai-jobs/provider.js';
import { ProviderError } from '../../../domain/errors.js';
import { createProcessPool } from '../../isolation/pool.js';
import { TaskLimitError } from '../../isolation/protocol.js';
import type { AiLimits } from '../limits.js';
import { ANALYSES, type AnalysisName, type TextOutcome, type TextTask } from './analyses.js';

const MEMORY_MB = 384;
/**
 * The libraries and their models take up to 320 MB. A process with more than half of its limit is not kept, and starting
 * one takes a hundred times as long as reading a short text.
 */
const RESIDENT_MB = 768;

/** The text analyses that need no server. They share child processes. */
export function createLocalTextProviders(
  limits: AiLimits,
  idleMs?: number,
): { providers: AiProvider[]; close(): Promise<void> } {
  const pool = createProcessPool<TextTask, TextOutcome>({
    worker: new URL('./analyses.js', import.meta.url),
    processes: limits.textProcesses,
    memoryMb: MEMORY_MB,
    residentMb: RESIDENT_MB,
    timeoutMs: limits.textTimeoutMs,
    idleMs,
  });

  function provider(analysis: AnalysisName): AiProvider<AnalysisName> {
    return {
      subfeature: analysis,
      name: ANALYSES[analysis].name,
      models: null,
      quick: true,
      async run(input, { original = false, org }, signal) {
        const { length } = input.text;
        const { textCharacters } = limits;
        if (length > textCharacters)
          throw new ProviderError(`The text has ${length} characters; at most ${textCharacters} are allowed.`, false);
        const task = { analysis, input, original };
        const outcome = await pool.run(task, signal, undefined, org).catch((error: unknown) => {
          if (!(error instanceof TaskLimitError)) throw error;
          throw new ProviderError(`Reading the text took too much ${error.limit}. Send it in parts.`, false);
        });
        if ('unsupportedLanguage' in outcome)
          throw new ProviderError(
            `This provider reads English; the text seems to be ${outcome.unsupportedLanguage}.`,
            false,
          );
        return outcome as ProviderResult<AnalysisName>;
      },
    };
  }

  const providers = (Object.keys(ANALYSES) as AnalysisName[]).map(provider);
  return { providers, close: () => pool.close() };
}
