import type { LanguageModels } from '../../domain/crews/language-model.js';
import { createOpenAiClient, type OpenAiOptions } from '../openai/client.js';
import { createBuiltInModel } from './built-in.js';
import { createOpenAiModel } from './openai.js';

export interface LanguageModelsConfig {
  /** A server that implements OpenAI's API. Without it every agent uses the built-in stand-in. */
  openai?: (OpenAiOptions & { model?: string | undefined }) | undefined;
}

/** The name of the stand-in in agents.yaml. */
const BUILT_IN = 'built-in';

/** The models of agents: a server's, or the built-in stand-in. */
export function createLanguageModels({ openai }: LanguageModelsConfig): LanguageModels {
  const builtIn = createBuiltInModel();
  const client = openai && createOpenAiClient(openai);
  return {
    get(llm) {
      // CrewAI prefixes the model with its provider.
      const name = llm === null ? openai?.model : llm.replace(/^openai\//, '');
      return client && name && name !== BUILT_IN ? createOpenAiModel(client, name) : builtIn;
    },
  };
}
