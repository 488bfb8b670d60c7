import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { startHttpServer } from './http-server.js';

export interface RecordedRequest {
  path: string;
  headers: IncomingHttpHeaders;
  /** As sent. */
  body: Buffer;
  json(): Record<string, unknown> & { messages: { role: string; content: unknown }[] };
}

/** An HTTP server whose handler is set by the test, for clients of OpenAI's protocol. */
export interface OpenAiServer {
  baseUrl: string;
  requests: RecordedRequest[];
  /** Sets the handler of the following requests. */
  respondWith(handler: (request: RecordedRequest, response: ServerResponse) => void): void;
  close(): Promise<void>;
}

export async function startOpenAiServer(): Promise<OpenAiServer> {
  const requests: RecordedRequest[] = [];
  let handler: (request: RecordedRequest, response: ServerResponse) => void = (_request, response) =>
    response.destroy();
  const server = await startHttpServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const request = { path: incoming.url!, headers: incoming.headers, body, json: () => JSON.parse(body.toString()) };
    requests.push(request);
    handler(request, response);
  });
  return {
    baseUrl: `${server.url}/v1`,
    requests,
    respondWith(next) {
      handler = next;
    },
    close: server.close,
  };
}

/** Responds as `POST /chat/completions` does. */
export function sendCompletion(
  response: ServerResponse,
  content: string | null,
  extra: Record<string, unknown> = {},
): void {
  const { finish_reason = 'stop', ...message } = extra;
  sendJson(response, {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'test-model',
    choices: [{ index: 0, message: { role: 'assistant', content, ...message }, finish_reason }],
    usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 },
  });
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
