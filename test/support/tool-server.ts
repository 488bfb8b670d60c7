import type { IncomingMessage } from 'node:http';
import { startHttpServer } from './http-server.js';

interface ToolRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** An API with an OpenAPI document, and an MCP server at `/mcp`, which responds with server-sent events. */
export async function startToolServer() {
  const requests: ToolRequest[] = [];
  const server = await startHttpServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const [method, path, body] = [request.method ?? '', request.url ?? '', Buffer.concat(chunks).toString()];
    requests.push({ method, path, headers: request.headers, body });
    const send = (status: number, value: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    if (path === '/openapi.json') return send(200, DOCUMENT);
    if (path.startsWith('/v1/towers/')) return send(200, { height: 142 });
    if (path !== '/mcp') return send(404, { error: 'not found' });
    const { id, method: called, params } = JSON.parse(body);
    if (id === undefined) return response.writeHead(202).end();
    const result = MCP_RESULTS[called as keyof typeof MCP_RESULTS](params);
    response.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': 'session-1' });
    response.end(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
  });
  return { ...server, requests };
}

const DOCUMENT = {
  openapi: '3.1.0',
  servers: [{ url: '/v1' }],
  paths: {
    '/towers/{name}/measures': {
      parameters: [{ $ref: '#/components/parameters/name' }],
      post: {
        operationId: 'measureTower',
        summary: 'Measure a tower',
        parameters: [{ name: 'unit', in: 'query', schema: { type: 'string', enum: ['steps', 'metres'] } }],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Measure' } } },
        },
      },
    },
  },
  components: {
    parameters: { name: { name: 'name', in: 'path', required: true, schema: { type: 'string' } } },
    schemas: { Measure: { type: 'object', properties: { by: { type: 'string' } } } },
  },
};

const MCP_RESULTS = {
  initialize: () => ({ protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'tides', version: '1' } }),
  'tools/list': () => ({
    tools: [
      {
        name: 'next.high',
        description: 'The next high tide',
        inputSchema: { type: 'object', properties: { port: { type: 'string' } } },
      },
      { name: 'erase', description: 'Erases all tides' },
    ],
  }),
  'tools/call': ({ name, arguments: args }: { name: string; arguments: { port?: string } }) =>
    args.port === undefined
      ? { content: [{ type: 'text', text: 'Which port?' }], isError: true }
      : { content: [{ type: 'text', text: `${name} at ${args.port}: noon` }] },
};
