import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  path: string;
  headers: IncomingHttpHeaders;
  /** As sent. */
  body: Buffer;
  json(): Record<string, unknown> & { messages: { role: string; content: unknown }[] };
}

/** A server that speaks OpenAI's protocol over HTTP as far as a test tells it to. */
export interface OpenAiServer {
  baseUrl: string;
  asked: Asked[];
  /** Answers the requests to come. */
  answer(handler: (request: Asked, response: ServerResponse) => void): void;
  close(): Promise<void>;
}

export async function startOpenAiServer(): Promise<OpenAiServer> {
  const asked: Asked[] = [];
  let handler: (request: Asked, response: ServerResponse) => void = (_request, response) => response.destroy();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const one = { path: request.url!, headers: request.headers, body, json: () => JSON.parse(body.toString()) };
    asked.push(one);
    handler(one, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    answer(next) {
      handler = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Answers as `POST /chat/completions` does. */
export function sayAs(response: ServerResponse, content: string | null, extra: Record<string, unknown> = {}): void {
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
