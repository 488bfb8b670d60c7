import type { CrewToolName } from '../../domain/crews/crews.js';
import type { ToolCall, ToolOffer } from '../../domain/crews/language-model.js';
import { ProviderError } from '../../domain/errors.js';
import { type FetchPageDependencies, fetchPage } from './fetch-page.js';
import { type QueryDatabaseDependencies, queryDatabase } from './query-database.js';
import { type CrewTool, ToolError } from './tool.js';

export type CrewToolDependencies = QueryDatabaseDependencies & FetchPageDependencies;

export interface ToolResult {
  /** False: `result` tells the model what went wrong. */
  ok: boolean;
  result: string;
}

export type CrewTools = ReturnType<typeof createCrewTools>;

/** What of a result a model is shown. */
const MAX_RESULT_CHARACTERS = 20_000;

export function createCrewTools(deps: CrewToolDependencies) {
  const tools: Record<CrewToolName, CrewTool> = { query_database: queryDatabase(deps), fetch_page: fetchPage(deps) };
  return {
    offers: (org: string, names: readonly CrewToolName[]): Promise<ToolOffer[]> =>
      Promise.all(names.map(async (name) => ({ name, ...(await tools[name].offer(org)) }))),

    /**
     * Runs a call that a model asked for.
     * @param offered names of the tools it may use
     * @param lastTry what may pass is now told to the model instead of thrown
     */
    async run(
      org: string,
      call: ToolCall,
      offered: readonly string[],
      signal: AbortSignal,
      lastTry: boolean,
    ): Promise<ToolResult> {
      if (!offered.includes(call.tool)) return failed(`There is no tool "${call.tool}".`);
      const tool = tools[call.tool as CrewToolName];
      const given = tool.arguments.safeParse(call.arguments);
      if (!given.success) {
        const [issue] = given.error.issues;
        return failed(`${issue?.path.join('.') || 'arguments'}: ${issue?.message}`);
      }
      try {
        const result = await tool.run(org, given.data as never, signal);
        return { ok: true, result: shorten(result) };
      } catch (error) {
        if (error instanceof ToolError || (error instanceof ProviderError && lastTry)) return failed(error.message);
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
