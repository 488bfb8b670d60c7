import type { IncomingHttpHeaders } from 'node:http';
import { eventually } from './eventually.js';
import { type HttpServer, startHttpServer } from './http-server.js';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  json: Record<string, unknown>;
}

export interface Receiver extends HttpServer {
  received: Received[];
  /** Returns the response to each request; 204 by default. */
  respond: (request: Received, count: number) => { status: number; headers?: Record<string, string>; body?: string };
  /** Awaited before each response. */
  hold?: (() => Promise<void>) | undefined;
  waitFor(what: string, wanted: (request: Received) => boolean): Promise<Received>;
}

/** A real receiver of webhooks, over HTTP on loopback. */
export async function startReceiver(port = 0): Promise<Receiver> {
  const received: Received[] = [];
  const server = await startHttpServer(async (incoming, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const request: Received = { path: incoming.url ?? '', headers: incoming.headers, body, json: parse(body) };
    received.push(request);
    await receiver.hold?.();
    const { status, headers, body: text } = receiver.respond(request, received.length);
    response.writeHead(status, headers).end(text);
  }, port);
  const receiver: Receiver = {
    url: `${server.url}/hook`,
    close: server.close,
    received,
    respond: () => ({ status: 204 }),
    waitFor: (what, wanted) => eventually(what, () => received.find(wanted)),
  };
  return receiver;
}

function parse(body: Buffer): Record<string, unknown> {
  try {
    return JSON.parse(body.toString());
  } catch {
    return {};
  }
}
