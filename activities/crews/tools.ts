import type { CrewToolName } from '../../domain/crews/crews.js';
import type { ToolCall, ToolOffer } from '../../domain/crews/language-model.js';
import { ProviderError } from '../../domain/errors.js';
import { type FetchPageDependencies, fetchPage } from './fetch-page.js';
import { type QueryDatabaseDependencies, queryDatabase } from './query-database.js';
import { type CrewTool, type ToolAccess, ToolError } from './tool.js';

export type CrewToolDependencies = QueryDatabaseDependencies & FetchPageDependencies;

export interface ToolResult {
  /** False: `result` describes the error to the model. */
  ok: boolean;
  result: string;
}

export type CrewTools = ReturnType<typeof createCrewTools>;

/** Characters of a result that the model gets. */
const MAX_RESULT_CHARACTERS = 20_000;

/** The tools of agents, by the names that crews use. */
export function createCrewTools(deps: CrewToolDependencies) {
  const tools: Record<CrewToolName, CrewTool> = { query_database: queryDatabase(deps), fetch_page: fetchPage(deps) };
  return {
    offers: (access: ToolAccess, names: readonly CrewToolName[]): Promise<ToolOffer[]> =>
      Promise.all(names.map(async (name) => ({ name, ...(await tools[name].offer(access)) }))),

    /**
     * Runs a tool call that a model requested.
     * @param offered names of the tools that the model may use
     * @param lastAttempt whether a transient error is returned to the model instead of thrown
     * @throws ProviderError, unless it is the last attempt
     */
    async run(
      access: ToolAccess,
      call: ToolCall,
      offered: readonly string[],
      signal: AbortSignal,
      lastAttempt: boolean,
    ): Promise<ToolResult> {
      if (!offered.includes(call.tool)) return failed(`There is no tool "${call.tool}".`);
      const tool = tools[call.tool as CrewToolName];
      const args = tool.arguments.safeParse(call.arguments);
      if (!args.success) {
        const [issue] = args.error.issues;
        return failed(`${issue?.path.join('.') || 'arguments'}: ${issue?.message}`);
      }
      try {
        const result = await tool.run(access, args.data as never, signal);
        return { ok: true, result: shorten(result) };
      } catch (error) {
        if (error instanceof ToolError || (error instanceof ProviderError && lastAttempt)) return failed(error.message);
        throw error;
      }
    },
  };
}

function failed(message: string): ToolResult {
  return { ok: false, result: `Error: ${message}` };
}

function shorten(text: string): string {
  return text.length <= MAX_RESULT_CHARACTERS ? text : `${text.slice(0, MAX_RESULT_CHARACTERS)}\n[shortened]`;
}
