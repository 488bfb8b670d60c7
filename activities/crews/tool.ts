import type { z } from 'zod';
import type { ToolOffer } from '../../domain/crews/language-model.js';

/** What an agent can do beside thinking. */
export interface CrewTool {
  /** As a model is told of it; what it may choose from can depend on the organisation. */
  offer(org: string): Promise<Omit<ToolOffer, 'name'>>;
  arguments: z.ZodType;
  /**
   * @param given fits `arguments`
   * @throws ToolError for what the model should know, ProviderError for what may pass
   */
  run(org: string, given: never, signal: AbortSignal): Promise<string>;
}

/** Said to the model, which may try something else. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}
