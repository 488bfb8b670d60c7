import type { z } from 'zod';
import type { HttpTool } from '../../domain/crews/crews.js';
import type { ToolOffer } from '../../domain/crews/language-model.js';

/** The data and tools that an execution may use. */
export interface ToolAccess {
  org: string;
  /** Databases of the organisation; null: all of them. */
  databases: readonly string[] | null;
  /** The tools that `crew.yaml` describes. */
  tools: Readonly<Record<string, HttpTool>>;
}

/** A tool that agents can use. */
export interface CrewTool {
  /** The tool as it is offered to a model. Its choices can depend on the execution. */
  offer(access: ToolAccess): Promise<Omit<ToolOffer, 'name'>>;
  arguments: z.ZodType;
  /**
   * @param args validated by `arguments`
   * @throws ToolError for the model; ProviderError for errors that may be transient
   */
  run(access: ToolAccess, args: never, signal: AbortSignal): Promise<string>;
}

/** An error whose message is shown to the model, which may try something else. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}
