import { createRequire } from 'node:module';
import Router from '@koa/router';
import {
  createMcpHandler,
  isLegacyRequest,
  type McpServerFactory,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { createPostback } from '../../client/index.js';
import { createMcpServer } from '../../mcp/server.js';
import { authenticate } from '../authenticate.js';
import type { Dependencies } from '../dependencies.js';
import { type ErrorShape, plainEnvelope } from '../envelope.js';
import { jsonBody } from '../json-body.js';
import { operations } from '../operation.js';
import type { RequestContext, RequestState } from '../request-context.js';
import { API_KEY, routesOf, type Service } from '../service.js';

const { version } = createRequire(import.meta.url)('../../../package.json') as { version: string };

const TAG = 'MCP';

const idSchema = z.union([z.string(), z.int()]);
const requestSchema = z.strictObject({
  jsonrpc: z.literal('2.0'),
  id: idSchema.optional().meta({ description: 'Absent in a notification.' }),
  method: z.string().meta({ example: 'tools/list' }),
  params: z.looseObject({}).optional(),
});
const errorSchema = z.looseObject({ code: z.int(), message: z.string(), data: z.unknown().optional() });
const responseSchema = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: idSchema.nullable().optional(),
  result: z.looseObject({}).optional(),
  error: errorSchema.optional(),
});

/** JSON-RPC's code for errors of a server. */
const SERVER_ERROR = -32_000;

/** Errors as JSON-RPC describes them, with the code of the service as data. */
const rpcErrors: ErrorShape = {
  describe: ({ code, message }) => ({
    jsonrpc: '2.0',
    id: null,
    error: { code: SERVER_ERROR, message, data: { code } },
  }),
  schema: () => z.looseObject({ jsonrpc: z.literal('2.0'), id: idSchema.nullable().optional(), error: errorSchema }),
};

/** `POST /mcp`: the tools of assistants, over the Model Context Protocol. Each request stands alone: there are no sessions. */
export function mcpService(deps: Dependencies): Service {
  const router = new Router<RequestState>();
  router.post(
    '/mcp',
    operations(TAG, plainEnvelope)(
      {
        summary: 'Call the tools of assistants',
        description:
          'The Model Context Protocol (streamable HTTP, without sessions). The tools `query`, `remember`, `ingest_url`, ' +
          '`item_status` and `list_databases` do what the key may do; `remember` and `ingest_url` need the scope `write` too.',
        body: requestSchema,
        example: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
        emptyStatus: 202,
        scope: 'read',
        response: responseSchema,
        errors: ['NOT_FOUND'],
      },
      async (ctx, { body }) => {
        // As it was validated: the SDK rejects fields that are null.
        const response = await respond(webRequest(ctx, body), body, serverFor(ctx));
        ctx.status = response.status;
        const text = await response.text();
        if (text === '') ctx.body = null;
        else {
          ctx.type = 'application/json';
          ctx.body = text;
        }
        // Koa sets 204 for an empty body.
        ctx.status = response.status;
      },
    ),
  );

  return {
    paths: ['/mcp'],
    errors: rpcErrors,
    middleware: [authenticate(deps.keys, ['api']), deps.rateLimit, jsonBody(), routesOf(router)],
    document: {
      tags: [{ name: TAG, description: 'A database as the memory of an assistant.' }],
      security: API_KEY,
    },
  };

  /** Tools send their requests with the key of the client. */
  function serverFor(ctx: RequestContext): McpServerFactory {
    const key = ctx.get('Authorization').replace(/^Bearer /i, '');
    const fetch = (request: Request) => {
      request.headers.set('x-request-id', ctx.state.request_id);
      return deps.fetchHere(request);
    };
    return () => createMcpServer(createPostback({ url: 'http://postback.internal', key, fetch }), version);
  }
}

/** Responds with JSON to clients of every version of the protocol. */
async function respond(request: Request, parsedBody: unknown, factory: McpServerFactory): Promise<Response> {
  if (!(await isLegacyRequest(request.clone(), parsedBody))) {
    return createMcpHandler(factory, { maxSubscriptions: 0 }).fetch(request, { parsedBody });
  }
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  const server = await factory({ era: 'legacy' });
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody });
  } finally {
    await server.close();
  }
}

/** The request as the SDK reads it. Clients need not say that they accept JSON. */
function webRequest(ctx: RequestContext, body: object): Request {
  const own = Object.entries(ctx.headers).flatMap(([name, value]): [string, string][] =>
    name.startsWith('mcp-') && typeof value === 'string' ? [[name, value]] : [],
  );
  return new Request('http://postback.internal/mcp', {
    method: 'POST',
    headers: [...own, ['accept', 'application/json, text/event-stream'], ['content-type', 'application/json']],
    body: JSON.stringify(body),
  });
}
