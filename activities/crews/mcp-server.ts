import { z } from 'zod';
import type { McpServer } from '../../domain/crews/crews.js';
import type { ToolOffer } from '../../domain/crews/language-model.js';
import { createCache, sendToolRequest, type ToolHttp } from './http-request.js';
import { ToolError } from './tool.js';

/** https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#streamable-http */
const PROTOCOL_VERSION = '2025-06-18';
const CACHE_MS = 10 * 60_000;
const MAX_PAGES = 10;
const MAX_DESCRIPTION = 1_000;

const message = z.looseObject({
  id: z.union([z.string(), z.number()]).nullish(),
  result: z.unknown().optional(),
  error: z.looseObject({ message: z.string().catch('an error') }).optional(),
});

const initialized = z.looseObject({ protocolVersion: z.string() });
const toolList = z.looseObject({
  tools: z.array(
    z.looseObject({
      name: z.string(),
      description: z.string().optional(),
      inputSchema: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
  nextCursor: z.string().nullish(),
});
const toolResult = z.looseObject({
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});

/** Calls a method of a session. @param repeatable whether the request can be repeated after an error */
type Call = (method: string, params: object, repeatable: boolean) => Promise<unknown>;

/** Tools of MCP servers, each call in a session of its own. */
export function createMcpTools(http: ToolHttp) {
  const cached = createCache<ToolOffer[]>(CACHE_MS);

  return {
    /** @returns the server's tools by their names at the server */
    offers: (server: McpServer, signal: AbortSignal): Promise<ToolOffer[]> =>
      cached(JSON.stringify(server), () => listTools(http, server, signal)),

    async call(server: McpServer, tool: string, args: object, signal: AbortSignal): Promise<string> {
      const call = await openSession(http, server, signal);
      const read = toolResult.safeParse(await call('tools/call', { name: tool, arguments: args }, false));
      if (!read.success) throw new ToolError('The response of the MCP server cannot be read.');
      const { content, structuredContent, isError } = read.data;
      const texts = content.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : []));
      const result =
        texts.length > 0 || structuredContent === undefined ? texts.join('\n') : JSON.stringify(structuredContent);
      if (isError) throw new ToolError(result || 'The tool failed.');
      return result || 'The tool returned no text.';
    },
  };
}

async function listTools(http: ToolHttp, server: McpServer, signal: AbortSignal): Promise<ToolOffer[]> {
  const call = await openSession(http, server, signal);
  const offers: ToolOffer[] = [];
  let cursor: string | null | undefined;
  for (let page = 0; page < MAX_PAGES && cursor !== null; page++) {
    const read = toolList.safeParse(await call('tools/list', cursor === undefined ? {} : { cursor }, true));
    if (!read.success) throw new ToolError('The tools of the MCP server cannot be read.');
    for (const { name, description = name, inputSchema = { type: 'object' } } of read.data.tools) {
      const allowed = server.allow === null || server.allow.includes(name);
      if (allowed) offers.push({ name, description: description.slice(0, MAX_DESCRIPTION), parameters: inputSchema });
    }
    cursor = read.data.nextCursor ?? null;
  }
  return offers;
}

async function openSession(http: ToolHttp, server: McpServer, signal: AbortSignal): Promise<Call> {
  const headers: Record<string, string> = {
    ...server.headers,
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': PROTOCOL_VERSION,
  };
  let lastId = 0;
  const post = (body: object, repeatable: boolean) =>
    sendToolRequest(http, { method: 'POST', url: server.mcp, headers, body, repeatable, signal });
  const call = async (method: string, params: object, repeatable: boolean) => {
    const id = ++lastId;
    const response = await post({ jsonrpc: '2.0', id, method, params }, repeatable);
    const session = response.headers['mcp-session-id'];
    if (session !== undefined) headers['mcp-session-id'] = session;
    const answer = messagesOf(response.headers['content-type'] ?? '', response.body.toString('utf8')).find(
      (candidate) => candidate.id === id,
    );
    if (!answer) throw new ToolError('The MCP server sent no response.');
    if (answer.error) throw new ToolError(answer.error.message);
    return answer.result;
  };
  const clientInfo = { name: 'postback', version: '1.0' };
  const opened = initialized.safeParse(
    await call('initialize', { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo }, true),
  );
  if (opened.success) headers['mcp-protocol-version'] = opened.data.protocolVersion;
  await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, true);
  return call;
}

/** The JSON-RPC messages of a response: one, a list, or a stream of server-sent events. */
function messagesOf(contentType: string, body: string): z.output<typeof message>[] {
  const texts = contentType.includes('text/event-stream')
    ? body.split(/\r?\n\r?\n/).map((event) =>
        event
          .split(/\r?\n/)
          .filter((line) => line.startsWith('data:'))
          .map((line) => line.slice(5).trimStart())
          .join('\n'),
      )
    : [body];
  return texts.flatMap((text) => {
    try {
      const parsed: unknown = JSON.parse(text);
      const entries: unknown[] = Array.isArray(parsed) ? parsed : [parsed];
      return entries.flatMap((entry) => {
        const read = message.safeParse(entry);
        return read.success ? [read.data] : [];
      });
    } catch {
      return [];
    }
  });
}
