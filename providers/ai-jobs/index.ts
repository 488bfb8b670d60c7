import { AI_FEATURES } from '../../domain/ai-jobs/features.js';
import type { AiProvider, AiProviders } from '../../domain/ai-jobs/provider.js';
import type { Extractor } from '../extraction/index.js';
import { type AiLimits, DEFAULT_AI_LIMITS } from './limits.js';
import { createTesseractProvider } from './ocr-tesseract.js';
import { createOpenAiProviders, type OpenAiConfig } from './openai/index.js';
import { createLocalTextExtraction } from './text-extraction-local.js';
import { createLocalTextProviders } from './text-local.js';

export type { AiLimits } from './limits.js';
export { OPENAI_SUBFEATURES, type OpenAiConfig, type OpenAiSubfeature } from './openai/index.js';

export interface AiProvidersConfig {
  /** A server that speaks OpenAI's protocol; without it the providers named `openai` are not there. */
  openai?: OpenAiConfig | undefined;
  /** Reads documents and pages; stays the caller's, who closes it. */
  extractor: Extractor;
  limits?: Partial<AiLimits>;
}

/** Every provider of AI jobs there is with this configuration. Threads start when the first job needs them. */
export function createAiProviders(config: AiProvidersConfig): AiProviders {
  const limits = { ...DEFAULT_AI_LIMITS, ...config.limits };
  const text = createLocalTextProviders(limits);
  const openai = config.openai && createOpenAiProviders(config.openai, limits);
  const providers: AiProvider[] = [
    createTesseractProvider(config.extractor.pages, limits),
    createLocalTextExtraction(config.extractor),
    ...text.providers,
    ...(openai?.providers ?? []),
  ];
  const checked = providers.map(withCheckedOutput);
  return {
    list: () => [...checked],
    find: (subfeature, name) =>
      checked.find((provider) => provider.subfeature === subfeature && provider.name === name),
    async close() {
      await Promise.all([text.close(), openai?.close()]);
    },
  };
}

/** Whatever a provider gives, the client gets what the documentation of the subfeature says. */
function withCheckedOutput(provider: AiProvider): AiProvider {
  const { subfeature, name, models } = provider;
  const { output: schema } = AI_FEATURES[subfeature];
  return {
    subfeature,
    name,
    models,
    async run(...args) {
      const { output, original } = await provider.run(...args);
      return { output: schema.parse(output), original };
    },
  };
}
