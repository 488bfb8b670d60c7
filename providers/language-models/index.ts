import type { LanguageModels } from '../../domain/crews/language-model.js';
import { createOpenAiClient, type OpenAiOptions } from '../openai/client.js';
import { createBuiltInModel } from './built-in.js';
import { createOpenAiModel } from './openai.js';

export interface LanguageModelsConfig {
  /** A server that speaks OpenAI's protocol; without one every agent has the built-in stand-in. */
  openai?: (OpenAiOptions & { model?: string | undefined }) | undefined;
}

/** How agents name the stand-in. */
const BUILT_IN = 'built-in';

/** The models of agents: a server's, or the built-in stand-in where none is configured. */
export function createLanguageModels({ openai }: LanguageModelsConfig): LanguageModels {
  const builtIn = createBuiltInModel();
  const client = openai && createOpenAiClient(openai);
  return {
    get(llm) {
      // CrewAI writes the provider before the model.
      const name = llm === null ? openai?.model : llm.replace(/^openai\//, '');
      return client && name && name !== BUILT_IN ? createOpenAiModel(client, name) : builtIn;
    },
  };
}
