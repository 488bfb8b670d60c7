import type { SubfeatureName } from '../../../domain/ai-jobs/features.js';
import type { AiProvider, ProviderOptions, ProviderResult, ValidatedInput } from '../../../domain/ai-jobs/provider.js';
import type { OpenAiClient } from '../../openai/client.js';
import { meteredClient } from '../../openai/metered-client.js';

export interface OpenAiContext {
  client: OpenAiClient;
  model: string;
  checkpoints: ProviderOptions['checkpoints'];
  signal: AbortSignal;
}

/** Runs one subfeature on the server. */
export type RunOnServer<S extends SubfeatureName> = (
  input: ValidatedInput<S>,
  context: OpenAiContext,
) => Promise<ProviderResult<S>>;

/** A provider named `openai`. It accepts any model name, because servers have their own. */
export function openAiProvider<S extends SubfeatureName>(
  subfeature: S,
  runOnServer: RunOnServer<S>,
  client: OpenAiClient,
  defaultModel: string,
): AiProvider<S> {
  return {
    subfeature,
    name: 'openai',
    models: { default: defaultModel, known: [defaultModel], any: true },
    metered: true,
    run(input, { model, checkpoints, meter }, signal) {
      const context = { client: meteredClient(client, meter), model: model ?? defaultModel, checkpoints, signal };
      return runOnServer(input, context);
    },
  };
}
