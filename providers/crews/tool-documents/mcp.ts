import { z } from 'zod';
import { ToolDocumentError } from './openapi.js';

const MAX_DESCRIPTION = 1_000;
/** Messages of one response: the one that is wanted, and a server's notifications before it. */
const MAX_MESSAGES = 1_000;
/** Tools of one page. */
const MAX_TOOLS = 1_000;

const message = z.object({
  id: z.union([z.string(), z.number()]).nullish(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string().catch('an error') }).optional(),
});
type Message = z.output<typeof message>;

const session = z.object({ protocolVersion: z.string() });
const toolList = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().nullish() });
const tool = z.object({
  name: z.string(),
  description: z.string().optional(),
  inputSchema: z.record(z.string(), z.unknown()).optional(),
});
const toolResult = z.object({
  content: z.array(z.unknown()).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});
const text = z.object({ type: z.literal('text'), text: z.string() });

/** What is read of the response to each method. */
export interface McpResults {
  /** `version`: of the protocol; null when the server does not say. */
  initialize: { version: string | null };
  'tools/list': {
    tools: { name: string; description: string; parameters: Record<string, unknown> }[];
    next: string | null;
  };
  'tools/call': { text: string; failed: boolean };
}

/**
 * Reads the response of an MCP server to one request: one JSON-RPC message, a list, or a stream of server-sent events.
 * @param id of the request
 * @throws ToolDocumentError
 */
export function readMcpResponse<Method extends keyof McpResults>(
  method: Method,
  body: string,
  contentType: string,
  id: number,
): McpResults[Method] {
  const found = findMessage(body, contentType, id);
  if (!found) throw new ToolDocumentError('The MCP server sent no response.');
  if (found.error) throw new ToolDocumentError(found.error.message);
  return READERS[method](found.result);
}

const READERS: { [Method in keyof McpResults]: (result: unknown) => McpResults[Method] } = {
  initialize(result) {
    const { data } = session.safeParse(result);
    return { version: data?.protocolVersion ?? null };
  },

  'tools/list'(result) {
    const { data } = toolList.safeParse(result);
    const read = data && z.array(tool).safeParse(data.tools.slice(0, MAX_TOOLS)).data;
    if (!read) throw new ToolDocumentError('The tools of the MCP server cannot be read.');
    const tools = read.map(({ name, description = name, inputSchema = { type: 'object' } }) => {
      return { name, description: description.slice(0, MAX_DESCRIPTION), parameters: inputSchema };
    });
    return { tools, next: data.nextCursor ?? null };
  },

  'tools/call'(result) {
    const { data } = toolResult.safeParse(result);
    if (!data) throw new ToolDocumentError('The response of the MCP server cannot be read.');
    const texts = data.content.flatMap((part) => text.safeParse(part).data?.text ?? []);
    const all =
      texts.length > 0 || data.structuredContent === undefined
        ? texts.join('\n')
        : JSON.stringify(data.structuredContent);
    return { text: all, failed: data.isError ?? false };
  },
};

function findMessage(body: string, contentType: string, id: number): Message | undefined {
  let messages = 0;
  for (const text of contentType.includes('text/event-stream') ? eventsOf(body) : [body]) {
    for (const entry of parseMessages(text)) {
      if (++messages > MAX_MESSAGES) throw new ToolDocumentError('The MCP server sent too many messages.');
      const { data } = message.safeParse(entry);
      if (data?.id === id) return data;
    }
  }
  return undefined;
}

function parseMessages(text: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : [parsed];
  } catch {
    return [];
  }
}

/** The data of server-sent events, one after the other. */
function* eventsOf(body: string): Generator<string> {
  let data: string[] = [];
  for (const line of linesOf(body)) {
    if (line.startsWith('data:')) data.push(line.slice('data:'.length).trimStart());
    if (line !== '' || data.length === 0) continue;
    yield data.join('\n');
    data = [];
  }
  if (data.length > 0) yield data.join('\n');
}

function* linesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start);
    const stop = end === -1 ? text.length : end;
    yield text.slice(start, text[stop - 1] === '\r' ? stop - 1 : stop);
    start = stop + 1;
  }
}
