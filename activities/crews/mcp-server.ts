import type { McpServer } from '../../domain/crews/crews.js';
import type { ToolOffer } from '../../domain/crews/language-model.js';
import type { ToolDocumentReader, ToolDocuments } from '../../providers/crews/tool-documents/index.js';
import { createCache, ownHeaders, sendToolRequest, type ToolHttp } from './http-request.js';
import { asToolError, ToolError } from './tool.js';

/** https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#streamable-http */
const PROTOCOL_VERSION = '2025-06-18';
const MAX_PAGES = 10;

/** Calls a method of a session. @param repeatable whether the request can be repeated after an error */
type Call = <Method extends Exclude<keyof ToolDocuments, 'openapi'>>(
  method: Method,
  params: object,
  repeatable: boolean,
) => Promise<ToolDocuments[Method]['result']>;

/** Tools of MCP servers, each call in a session of its own. */
export function createMcpTools(http: ToolHttp, documents: ToolDocumentReader) {
  const cached = createCache<ToolOffer[]>();

  return {
    /** @returns the server's tools by their names at the server */
    offers: (server: McpServer, signal: AbortSignal): Promise<ToolOffer[]> =>
      cached(JSON.stringify(server), () => listTools(server, signal)),

    async call(server: McpServer, tool: string, args: object, signal: AbortSignal): Promise<string> {
      const call = await openSession(server, signal);
      const { text, failed } = await call('tools/call', { name: tool, arguments: args }, false);
      if (failed) throw new ToolError(text || 'The tool failed.');
      return text || 'The tool returned no text.';
    },
  };

  async function listTools(server: McpServer, signal: AbortSignal): Promise<ToolOffer[]> {
    const call = await openSession(server, signal);
    const offers: ToolOffer[] = [];
    let cursor: string | null | undefined;
    for (let page = 0; page < MAX_PAGES && cursor !== null; page++) {
      const { tools, next } = await call('tools/list', cursor === undefined ? {} : { cursor }, true);
      offers.push(...tools.filter(({ name }) => server.allow === null || server.allow.includes(name)));
      cursor = next;
    }
    return offers;
  }

  async function openSession(server: McpServer, signal: AbortSignal): Promise<Call> {
    const headers: Record<string, string> = {
      ...ownHeaders(server, http.secrets),
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': PROTOCOL_VERSION,
    };
    let lastId = 0;
    const post = (body: object, repeatable: boolean) =>
      sendToolRequest(http, { method: 'POST', url: server.mcp, headers, body, repeatable, signal });
    const call: Call = async (method, params, repeatable) => {
      const id = ++lastId;
      const response = await post({ jsonrpc: '2.0', id, method, params }, repeatable);
      const session = response.headers['mcp-session-id'];
      if (session !== undefined) headers['mcp-session-id'] = session;
      const contentType = response.headers['content-type'] ?? '';
      const read = { text: response.body.toString('utf8'), contentType, id };
      return documents.read(method, read, signal).catch(asToolError);
    };
    const clientInfo = { name: 'postback', version: '1.0' };
    const opening = { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo };
    const { version } = await call('initialize', opening, true);
    if (version !== null) headers['mcp-protocol-version'] = version;
    await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, true);
    return call;
  }
}
