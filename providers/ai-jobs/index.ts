import { AI_FEATURES } from '../../domain/ai-jobs/features.js';
import { type AiProvider, type AiProviders, asProviderError } from '../../domain/ai-jobs/provider.js';
import type { Extractor } from '../extraction/index.js';
import { createOcrProvider, createTableProvider, createTextExtractionProvider } from './documents.js';
import { type AiLimits, DEFAULT_AI_LIMITS } from './limits.js';
import { createOpenAiProviders, type OpenAiConfig } from './openai/index.js';
import { createLocalTextProviders } from './text/index.js';

export type { AiLimits } from './limits.js';
export { OPENAI_SUBFEATURES, type OpenAiConfig, type OpenAiSubfeature } from './openai/index.js';

export interface AiProvidersConfig {
  /** A server that implements OpenAI's API. Without it there are no providers named `openai`. */
  openai?: OpenAiConfig | undefined;
  /** Reads documents and pages. The caller closes it. */
  extractor: Extractor;
  limits?: Partial<AiLimits>;
  /** How long an idle process waits for the next text. */
  idleMs?: number;
}

/** All providers of AI jobs that this configuration allows. Processes start with the first job that needs them. */
export function createAiProviders(config: AiProvidersConfig): AiProviders {
  const limits = { ...DEFAULT_AI_LIMITS, ...config.limits };
  const text = createLocalTextProviders(limits, config.idleMs);
  const openai = config.openai && createOpenAiProviders(config.openai, limits);
  const providers: AiProvider[] = [
    createOcrProvider(config.extractor.pages, limits),
    createTableProvider(config.extractor.pages, limits),
    createTextExtractionProvider(config.extractor),
    ...text.providers,
    ...(openai?.providers ?? []),
  ];
  const checked = providers.map(byContract);
  return {
    list: () => [...checked],
    find: (subfeature, name) =>
      checked.find((provider) => provider.subfeature === subfeature && provider.name === name),
    async close() {
      await Promise.all([text.close(), openai?.close()]);
    },
  };
}

/** Parses the output by the subfeature's schema, so that the client receives the documented fields, and maps errors of files. */
function byContract(provider: AiProvider): AiProvider {
  const { output: schema } = AI_FEATURES[provider.subfeature];
  return {
    ...provider,
    async run(...args) {
      const { output, original } = await provider.run(...args).catch((error: unknown) => {
        throw asProviderError(error);
      });
      return { output: schema.parse(output), original };
    },
  };
}
