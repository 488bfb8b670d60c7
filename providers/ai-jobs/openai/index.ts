import type { SubfeatureName } from '../../../domain/ai-jobs/features.js';
import type { AiProvider } from '../../../domain/ai-jobs/provider.js';
import { createProcessPool } from '../../isolation/pool.js';
import { createOpenAiClient, meteredClient, type OpenAiOptions } from '../../openai/client.js';
import type { AiLimits } from '../limits.js';
import { captioning, speechToText } from './files.js';
import type { PictureOutcome, PictureTask } from './picture-worker.js';
import type { RunOnServer } from './provider.js';
import { chat, summarize, translate } from './text.js';

/** Subfeatures that a server can run. Each is offered when its default model is configured. */
export const OPENAI_SUBFEATURES = [
  'text/chat',
  'text/summarize',
  'translation/automatic_translation',
  'image/captioning',
  'audio/speech_to_text_async',
] as const;
export type OpenAiSubfeature = (typeof OPENAI_SUBFEATURES)[number];

export interface OpenAiConfig extends OpenAiOptions {
  /** The default model of each offered subfeature. */
  models: Partial<Record<OpenAiSubfeature, string>>;
  /** Other models that jobs may name. */
  allowedModels?: readonly string[];
  /** Tokens that a request may generate; absent: no limit. */
  maxTokens?: number | undefined;
}

const PICTURE_MEMORY_MB = 192;
const PICTURE_TIMEOUT_MS = 60_000;

/** The providers named `openai`, for any server that implements OpenAI's HTTP API. */
export function createOpenAiProviders(config: OpenAiConfig, limits: AiLimits) {
  const client = createOpenAiClient(config);
  const pictures = createProcessPool<PictureTask, PictureOutcome>({
    worker: new URL('./picture-worker.js', import.meta.url),
    processes: 1,
    memoryMb: PICTURE_MEMORY_MB,
    // sharp decodes pictures.
    addons: true,
    timeoutMs: PICTURE_TIMEOUT_MS,
  });
  const runs = {
    'text/chat': chat,
    'text/summarize': summarize,
    'translation/automatic_translation': translate,
    'image/captioning': captioning(pictures, limits.imagePixels),
    'audio/speech_to_text_async': speechToText(limits.audioBytes),
  };
  const providers = OPENAI_SUBFEATURES.flatMap((subfeature): AiProvider[] => {
    const run = runs[subfeature] as RunOnServer<SubfeatureName>;
    const model = config.models[subfeature];
    if (!model) return [];
    const known = [...new Set([model, ...(config.allowedModels ?? [])])];
    return [
      {
        subfeature,
        name: 'openai',
        models: { default: model, known, max_tokens: config.maxTokens ?? null },
        metered: true,
        run: (input, { model: wanted, checkpoints, meter, org }, signal) => {
          const { maxTokens } = config;
          const metered = meteredClient(client, meter);
          return run(input, { client: metered, model: wanted ?? model, maxTokens, checkpoints, org, signal });
        },
      },
    ];
  });
  return { providers, close: () => pictures.close() };
}
