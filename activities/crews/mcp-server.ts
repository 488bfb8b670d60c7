import type { Client } from '@modelcontextprotocol/client';
import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import type { McpServer } from '../../domain/crews/crews.js';
import type { ToolOffer } from '../../domain/crews/language-model.js';
import { ProviderError } from '../../domain/errors.js';
import type { OutboundResponse } from '../../domain/outbound.js';
import { createCache, MAX_BYTES, ownHeaders, sendToolRequest, type ToolHttp } from './http-request.js';
import { ToolError } from './tool.js';

const MAX_PAGES = 10;
/** Tools of one page. */
const MAX_TOOLS = 1_000;
const MAX_DESCRIPTION = 1_000;
/** Messages of one response: the one that is wanted, and a server's notifications before it. */
const MAX_MESSAGES = 1_000;
const MAX_ERROR = 2_000;
/** Milliseconds. The guarded client's limit comes first, and says more. */
const OPTIONS = { timeout: 120_000 };

// The client's own schemas list each fault of a result: 1 MB of empty tools took 15 seconds and 1 GB. These look at few values.
const tool = z.object({
  name: z.string(),
  description: z.string().optional(),
  inputSchema: z.record(z.string(), z.unknown()).optional(),
});
const toolList = z.object({
  tools: z.preprocess((list) => (Array.isArray(list) ? list.slice(0, MAX_TOOLS) : list), z.array(tool)),
  nextCursor: z.string().nullish(),
});
const toolResult = z.object({
  content: z.array(z.unknown()).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});
const message = z.object({
  id: z.unknown().optional(),
  method: z.string().optional(),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.object({ code: z.number().catch(0), message: z.string().catch('an error') }).optional(),
});
type Message = z.output<typeof message>;

/** Tools of MCP servers, each call in a session of its own. */
export function createMcpTools(http: ToolHttp) {
  const cached = createCache<ToolOffer[]>();

  return {
    /** @returns the server's tools by their names at the server */
    offers: (server: McpServer, signal: AbortSignal): Promise<ToolOffer[]> =>
      cached(JSON.stringify(server), () => inSession(http, server, signal, (client) => listTools(client, server))),

    async call(server: McpServer, name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<string> {
      const request = { method: 'tools/call', params: { name, arguments: args } } as const;
      const result = await inSession(http, server, signal, (client) => client.request(request, toolResult, OPTIONS));
      const { content, structuredContent, isError } = result;
      const texts = content.flatMap(textOf);
      const all = texts.length > 0 ? texts.join('\n') : (JSON.stringify(structuredContent) ?? '');
      if (isError) throw new ToolError(all || 'The tool failed.');
      return all || 'The tool returned no text.';
    },
  };
}

function textOf(part: unknown): string[] {
  const { type, text } = Object(part) as { type?: unknown; text?: unknown };
  return type === 'text' && typeof text === 'string' ? [text] : [];
}

async function listTools(client: Client, { allow }: McpServer): Promise<ToolOffer[]> {
  const offers: ToolOffer[] = [];
  let cursor: string | null | undefined;
  for (let page = 0; page < MAX_PAGES && cursor !== null; page++) {
    const request = { method: 'tools/list', params: cursor === undefined ? {} : { cursor } } as const;
    const { tools, nextCursor = null } = await client.request(request, toolList, OPTIONS);
    for (const { name, description = name, inputSchema = { type: 'object' } } of tools) {
      if (allow !== null && !allow.includes(name)) continue;
      offers.push({ name, description: description.slice(0, MAX_DESCRIPTION), parameters: inputSchema });
    }
    cursor = nextCursor;
  }
  return offers;
}

/** @throws ToolError or ProviderError; the signal's reason when it was aborted */
async function inSession<Result>(
  http: ToolHttp,
  server: McpServer,
  signal: AbortSignal,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  // Loaded when a crew first needs it: it takes 35 MB.
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const fetch = guardedFetch(http, server, signal);
  const client = new Client({ name: 'postback', version: '1.0' }, { jsonSchemaValidator: NO_VALIDATOR });
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(server.mcp), { fetch }), OPTIONS);
    return await work(client);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof ToolError || error instanceof ProviderError) throw error;
    const about = (error as Error).message.slice(0, MAX_ERROR);
    if ((error as Error).name === 'ProtocolError') throw new ToolError(about);
    throw new ToolError(`The response of the MCP server cannot be read: ${about}`);
  } finally {
    await client.close();
  }
}

/** A server must not choose the schemas and patterns that run here. */
const NO_VALIDATOR = {
  getValidator(): never {
    throw new Error('Schemas of MCP servers are not compiled.');
  },
};

/**
 * Sends the client's requests through the guarded client. Of what the server sends, the client gets the response to its request
 * only: a server cannot open streams, ask for requests, or make it wait for a response that does not come. The secrets of the
 * tool stay here: the client does not have them.
 */
function guardedFetch(http: ToolHttp, server: McpServer, signal: AbortSignal) {
  const own = ownHeaders(server, http.secrets);
  return async (_url: string | URL, init: RequestInit = {}): Promise<Response> => {
    if (init.method !== 'POST') return new Response(null, { status: 405 });
    const request = JSON.parse(init.body as string) as { id?: number; method: string };
    const response = await sendToolRequest(http, {
      method: 'POST',
      url: server.mcp,
      headers: { ...own, ...Object.fromEntries(new Headers(init.headers)) },
      body: request,
      repeatable: request.method !== 'tools/call',
      signal,
    });
    if (request.id === undefined) return new Response(null, { status: 202 });
    const { result, error } = findResponse(response, request.id);
    const session = response.headers['mcp-session-id'];
    return Response.json(
      {
        jsonrpc: '2.0',
        id: request.id,
        ...(error ? { error } : { result: request.method === 'initialize' ? opened(result) : (result ?? {}) }),
      },
      { headers: session === undefined ? {} : { 'mcp-session-id': session } },
    );
  };
}

/** What the client needs to know of a session. It checks the version. */
function opened(result: Message['result']) {
  return { protocolVersion: result?.protocolVersion, capabilities: {}, serverInfo: { name: '', version: '' } };
}

/** Finds the response to a request in one message, a list, or a stream of server-sent events. @throws ToolError */
function findResponse({ body, headers }: OutboundResponse, id: number): Message {
  let messages = 0;
  for (const text of headers['content-type']?.includes('text/event-stream')
    ? eventsOf(body)
    : [body.toString('utf8')]) {
    for (const entry of parseMessages(text)) {
      if (++messages > MAX_MESSAGES) throw new ToolError('The MCP server sent too many messages.');
      const { data } = message.safeParse(entry);
      if (data?.id === id && data.method === undefined) return data;
    }
  }
  throw new ToolError(`The MCP server sent ${body.length < MAX_BYTES ? 'no response' : 'too much'}.`);
}

function parseMessages(text: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : [parsed];
  } catch {
    return [undefined];
  }
}

function eventsOf(body: Buffer): string[] {
  const events: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => void events.push(data) });
  // The parser takes minutes for megabytes of carriage returns. A server may end without the empty line that ends an event.
  parser.feed(`${body.toString('utf8').replace(/\r\n?/g, '\n')}\n\n`);
  return events;
}
