import type { SubfeatureName } from '../../../domain/ai-jobs/features.js';
import type {
  AiProvider,
  ProviderModels,
  ProviderOptions,
  ProviderResult,
  ValidatedInput,
} from '../../../domain/ai-jobs/provider.js';
import { meteredClient, type OpenAiClient } from '../../openai/client.js';

export interface OpenAiContext {
  client: OpenAiClient;
  model: string;
  /** Tokens that a request may generate; undefined: no limit. */
  maxTokens: number | undefined;
  checkpoints: ProviderOptions['checkpoints'];
  signal: AbortSignal;
}

/** Runs one subfeature on the server. */
export type RunOnServer<S extends SubfeatureName> = (
  input: ValidatedInput<S>,
  context: OpenAiContext,
) => Promise<ProviderResult<S>>;

/** A provider named `openai`. @param models that jobs may use, and the tokens that each request may generate */
export function openAiProvider<S extends SubfeatureName>(
  subfeature: S,
  runOnServer: RunOnServer<S>,
  client: OpenAiClient,
  models: ProviderModels,
): AiProvider<S> {
  return {
    subfeature,
    name: 'openai',
    models,
    metered: true,
    run(input, { model, checkpoints, meter }, signal) {
      return runOnServer(input, {
        client: meteredClient(client, meter),
        model: model ?? models.default,
        maxTokens: models.max_tokens ?? undefined,
        checkpoints,
        signal,
      });
    },
  };
}
