import type { AiProvider, ProviderResult } from '../../domain/ai-jobs/provider.js';
import { ProviderError } from '../../domain/errors.js';
import { createThreadPool, TaskLimitError } from '../extraction/thread-pool.js';
import type { AiLimits } from './limits.js';
import { ANALYSES, type AnalysisName } from './text/analyses.js';
import type { TextOutcome, TextTask } from './text/worker.js';

const MEMORY_MB = 384;
const HEARTBEAT_MS = 3_000;

/** The analyses of text that need no outside service. They share threads, so that the event loop stays free. */
export function createLocalTextProviders(limits: AiLimits): { providers: AiProvider[]; close(): Promise<void> } {
  const pool = createThreadPool<TextTask, TextOutcome>({
    worker: new URL('./text/worker.js', import.meta.url),
    threads: limits.textThreads,
    memoryMb: MEMORY_MB,
    timeoutMs: limits.textTimeoutMs,
  });

  function provider(analysis: AnalysisName): AiProvider<AnalysisName> {
    return {
      subfeature: analysis,
      name: ANALYSES[analysis].name,
      models: null,
      async run(input, _options, signal, heartbeat) {
        if (input.text.length > limits.textCharacters)
          throw new ProviderError(
            `The text has ${input.text.length} characters, ${limits.textCharacters} are allowed.`,
            false,
          );
        const beating = setInterval(heartbeat, HEARTBEAT_MS);
        try {
          const outcome = await pool.run({ analysis, input }, signal);
          if ('foreign' in outcome)
            throw new ProviderError(`This provider reads English; the text seems to be ${outcome.foreign}.`, false);
          return { output: outcome.output, original: outcome.output } as ProviderResult<AnalysisName>;
        } catch (error) {
          if (!(error instanceof TaskLimitError)) throw error;
          throw new ProviderError(`Reading the text took too much ${error.limit}. Send it in parts.`, false);
        } finally {
          clearInterval(beating);
        }
      },
    };
  }

  const providers = (Object.keys(ANALYSES) as AnalysisName[]).map(provider);
  return { providers, close: () => pool.close() };
}
