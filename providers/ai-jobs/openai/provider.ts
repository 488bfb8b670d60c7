import type { SubfeatureName } from '../../../domain/ai-jobs/features.js';
import type { ProviderOptions, ProviderResult, ValidatedInput } from '../../../domain/ai-jobs/provider.js';
import type { OpenAiClient } from '../../openai/client.js';

export interface OpenAiContext {
  client: OpenAiClient;
  model: string;
  /** Tokens that a request may generate; undefined: no limit. */
  maxTokens: number | undefined;
  checkpoints: ProviderOptions['checkpoints'];
  org: ProviderOptions['org'];
  signal: AbortSignal;
}

/** Runs one subfeature on the server. */
export type RunOnServer<S extends SubfeatureName> = (
  input: ValidatedInput<S>,
  context: OpenAiContext,
) => Promise<ProviderResult<S>>;
