import type { Config } from '../config.js';
import type { OpenAiConfig } from '../providers/ai/index.js';

/** The server of the provider `openai`, by the operator's settings; undefined without one. */
export function openAiConfig(config: Config): OpenAiConfig | undefined {
  if (config.POSTBACK_OPENAI_URL === undefined) return undefined;
  const chat = config.POSTBACK_OPENAI_CHAT_MODEL;
  return {
    baseUrl: config.POSTBACK_OPENAI_URL,
    apiKey: config.POSTBACK_OPENAI_KEY,
    models: {
      'text/chat': chat,
      'text/summarize': chat,
      'translation/automatic_translation': chat,
      'image/captioning': config.POSTBACK_OPENAI_VISION_MODEL,
      'audio/speech_to_text_async': config.POSTBACK_OPENAI_SPEECH_MODEL,
    },
  };
}
