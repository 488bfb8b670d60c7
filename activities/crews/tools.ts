import { CREW_TOOLS, type CrewToolName } from '../../domain/crews/crews.js';
import type { ToolCall, ToolOffer } from '../../domain/crews/language-model.js';
import { ProviderError } from '../../domain/errors.js';
import type { ToolDocumentReader } from '../../providers/crews/tool-documents/index.js';
import { type FetchPageDependencies, fetchPage } from './fetch-page.js';
import type { ToolHttp } from './http-request.js';
import { createMcpTools } from './mcp-server.js';
import { createOpenApiTools } from './openapi-tool.js';
import { type QueryDatabaseDependencies, queryDatabase } from './query-database.js';
import { type CrewTool, type ToolAccess, ToolError } from './tool.js';

export type CrewToolDependencies = QueryDatabaseDependencies &
  FetchPageDependencies & {
    outbound: ToolHttp['outbound'];
    toolDocuments: ToolDocumentReader;
    /** Values for `${NAME}` in the headers of tools. */
    toolSecrets: ToolHttp['secrets'];
  };

export interface ToolResult {
  /** False: `result` describes the error to the model. */
  ok: boolean;
  result: string;
}

export type CrewTools = ReturnType<typeof createCrewTools>;

/** Less than the activity has: at its limit the call would be made again, up to 20 times, and the model would never get an error. */
const MAX_TOOL_MS = 150_000;
/** Characters of a result that the model gets. */
const MAX_RESULT_CHARACTERS = 20_000;

/** The tools of agents, by the names that crews use: built-in ones, and those that `crew.yaml` describes. */
export function createCrewTools(deps: CrewToolDependencies) {
  const builtIn: Record<CrewToolName, CrewTool> = { query_database: queryDatabase(deps), fetch_page: fetchPage(deps) };
  const http: ToolHttp = { outbound: deps.outbound, secrets: deps.toolSecrets };
  const openApi = createOpenApiTools(http, deps.toolDocuments);
  const mcp = createMcpTools(http);

  return {
    /**
     * @param names of tools; an MCP server offers several
     * @throws ProviderError when a tool cannot be described to the model
     */
    async offers(access: ToolAccess, names: readonly string[], signal: AbortSignal): Promise<ToolOffer[]> {
      const offers = names.map((name) =>
        offersOf(access, name, signal).catch((error) => {
          // The model cannot do anything about it.
          throw error instanceof ToolError ? new ProviderError(`Tool "${name}": ${error.message}`, false) : error;
        }),
      );
      return (await Promise.all(offers)).flat();
    },

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
      cancelled: AbortSignal,
      lastAttempt: boolean,
    ): Promise<ToolResult> {
      const limit = AbortSignal.timeout(MAX_TOOL_MS);
      const signal = AbortSignal.any([cancelled, limit]);
      try {
        const run = await find(access, call, offered, signal);
        return run ? { ok: true, result: shorten(await run()) } : failed(`There is no tool "${call.tool}".`);
      } catch (error) {
        if (limit.aborted && !cancelled.aborted)
          return failed(`The tool took more than ${MAX_TOOL_MS / 1000} seconds.`);
        if (error instanceof ToolError || (error instanceof ProviderError && lastAttempt)) return failed(error.message);
        throw error;
      }
    },
  };

  async function offersOf(access: ToolAccess, name: string, signal: AbortSignal): Promise<ToolOffer[]> {
    if (isBuiltIn(name)) return [{ name, ...(await builtIn[name].offer(access)) }];
    const tool = access.tools[name];
    if (!tool) return [];
    if ('openapi' in tool) return [{ name, ...(await openApi.offer(tool, signal)) }];
    const offers = await mcp.offers(tool, signal);
    return offers.map((offer) => ({ ...offer, name: nameAt(name, offer.name) }));
  }

  /** @returns a function that runs the call; undefined when no offered tool has this name */
  async function find(
    access: ToolAccess,
    { tool: name, arguments: args, malformed }: ToolCall,
    offered: readonly string[],
    signal: AbortSignal,
  ): Promise<(() => Promise<string>) | undefined> {
    if (malformed) throw new ToolError('The arguments are not a JSON object. The tool was not called.');
    if (offered.includes(name)) {
      if (isBuiltIn(name)) return () => runBuiltIn(builtIn[name], access, args, signal);
      const tool = access.tools[name];
      if (tool && 'openapi' in tool) return () => openApi.call(tool, args, signal);
    }
    for (const server of offered) {
      const tool = isBuiltIn(server) ? undefined : access.tools[server];
      if (!tool || !('mcp' in tool) || !name.startsWith(`${server}_`)) continue;
      const found = (await mcp.offers(tool, signal)).find((offer) => nameAt(server, offer.name) === name);
      if (found) return () => mcp.call(tool, found.name, args, signal);
    }
    return undefined;
  }
}

function isBuiltIn(name: string): name is CrewToolName {
  return (CREW_TOOLS as readonly string[]).includes(name);
}

/** The name under which a tool of an MCP server is offered; model servers allow 64 letters, digits, `_` and `-`. */
function nameAt(server: string, tool: string): string {
  return `${server}_${tool}`.replace(/[^\w-]/g, '_').slice(0, 64);
}

async function runBuiltIn(tool: CrewTool, access: ToolAccess, given: object, signal: AbortSignal): Promise<string> {
  const args = tool.arguments.safeParse(given);
  if (!args.success) {
    const [issue] = args.error.issues;
    throw new ToolError(`${issue?.path.join('.') || 'arguments'}: ${issue?.message}`);
  }
  return tool.run(access, args.data as never, signal);
}

function failed(message: string): ToolResult {
  return { ok: false, result: `Error: ${message}` };
}

function shorten(text: string): string {
  return text.length <= MAX_RESULT_CHARACTERS ? text : `${text.slice(0, MAX_RESULT_CHARACTERS)}\n[shortened]`;
}
