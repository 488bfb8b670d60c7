import type { Config } from '../config.js';
import type { CrewDefinition } from '../domain/crews.js';
import type { LanguageModels } from '../domain/language-model.js';
import { loadCrews } from '../providers/crews/load-crews.js';
import { createLanguageModels } from '../providers/language-models/index.js';

/** The deployed crews and the models of their agents, by the operator's settings. @throws CrewFilesError */
export function composeCrews(config: Config): { crews: Map<string, CrewDefinition>; models: LanguageModels } {
  const { POSTBACK_OPENAI_URL: baseUrl, POSTBACK_OPENAI_KEY: apiKey, POSTBACK_OPENAI_CHAT_MODEL: model } = config;
  return {
    crews: loadCrews(config.POSTBACK_CREWS_DIR),
    models: createLanguageModels({ openai: baseUrl === undefined ? undefined : { baseUrl, apiKey, model } }),
  };
}
