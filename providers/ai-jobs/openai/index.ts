import type { AiProvider } from '../../../domain/ai-jobs/provider.js';
import { createThreadPool } from '../../extraction/thread-pool.js';
import type { AiLimits } from '../limits.js';
import { captioning } from './captioning.js';
import { chat } from './chat.js';
import { createOpenAiClient, type OpenAiOptions } from './client.js';
import type { PictureOutcome, PictureTask } from './picture-worker.js';
import { openAiProvider } from './provider.js';
import { speechToText } from './speech-to-text.js';
import { summarize } from './summarize.js';
import { translate } from './translation.js';

/** What the server is asked for; a subfeature is offered when its default model is named. */
export const OPENAI_SUBFEATURES = [
  'text/chat',
  'text/summarize',
  'translation/automatic_translation',
  'image/captioning',
  'audio/speech_to_text_async',
] as const;
export type OpenAiSubfeature = (typeof OPENAI_SUBFEATURES)[number];

export interface OpenAiConfig extends OpenAiOptions {
  /** The default model of each subfeature that is offered. */
  models: Partial<Record<OpenAiSubfeature, string>>;
}

const PICTURE_MEMORY_MB = 192;
const PICTURE_TIMEOUT_MS = 60_000;

/** The providers named `openai`: any server that speaks OpenAI's HTTP protocol. */
export function createOpenAiProviders(config: OpenAiConfig, limits: AiLimits) {
  const client = createOpenAiClient(config);
  const pictures = createThreadPool<PictureTask, PictureOutcome>({
    worker: new URL('./picture-worker.js', import.meta.url),
    threads: 1,
    memoryMb: PICTURE_MEMORY_MB,
    timeoutMs: PICTURE_TIMEOUT_MS,
  });
  const asks = {
    'text/chat': chat,
    'text/summarize': summarize,
    'translation/automatic_translation': translate,
    'image/captioning': captioning(pictures, limits.imagePixels),
    'audio/speech_to_text_async': speechToText(limits.audioBytes),
  };
  const providers: AiProvider[] = [];
  const offer = <S extends OpenAiSubfeature>(subfeature: S) => {
    const model = config.models[subfeature];
    if (model) providers.push(openAiProvider<OpenAiSubfeature>(subfeature, asks[subfeature] as never, client, model));
  };
  OPENAI_SUBFEATURES.forEach(offer);
  return { providers, close: () => pictures.close() };
}
