import type { SubfeatureName } from '../../../domain/ai-jobs/features.js';
import type { AiProvider, ProviderOptions, ProviderResult, ValidatedInput } from '../../../domain/ai-jobs/provider.js';
import type { OpenAiClient } from './client.js';

export type Ask<S extends SubfeatureName> = (
  input: ValidatedInput<S>,
  context: { client: OpenAiClient; model: string; checkpoints: ProviderOptions['checkpoints']; signal: AbortSignal },
) => Promise<ProviderResult<S>>;

const HEARTBEAT_MS = 3_000;

/** A provider named `openai`. @param ask one subfeature's way to ask the server */
export function openAiProvider<S extends SubfeatureName>(
  subfeature: S,
  ask: Ask<S>,
  client: OpenAiClient,
  defaultModel: string,
): AiProvider<S> {
  return {
    subfeature,
    name: 'openai',
    models: { default: defaultModel, known: [defaultModel], any: true },
    async run(input, { model, checkpoints }, signal, heartbeat) {
      // The client's time limit ends an exchange that hangs.
      const beating = setInterval(heartbeat, HEARTBEAT_MS);
      try {
        return await ask(input, { client, model: model ?? defaultModel, checkpoints, signal });
      } finally {
        clearInterval(beating);
      }
    },
  };
}
