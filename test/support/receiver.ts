import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from './eventually.js';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  json: Record<string, unknown>;
}

export interface Receiver {
  url: string;
  received: Received[];
  /** Returns the response to each request; 204 by default. */
  respond: (request: Received, count: number) => { status: number; headers?: Record<string, string>; body?: string };
  /** Awaited before each response. */
  hold?: (() => Promise<void>) | undefined;
  waitFor(what: string, wanted: (request: Received) => boolean): Promise<Received>;
  close(): Promise<void>;
}

/** A real receiver of webhooks, over HTTP on loopback. */
export async function startReceiver(port = 0): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer(async (incoming, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const request: Received = { path: incoming.url ?? '', headers: incoming.headers, body, json: parse(body) };
    received.push(request);
    await receiver.hold?.();
    const { status, headers, body: text } = receiver.respond(request, received.length);
    response.writeHead(status, headers).end(text);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    respond: () => ({ status: 204 }),
    waitFor: (what, wanted) => eventually(what, () => received.find(wanted)),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
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
