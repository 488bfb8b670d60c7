import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  request as sendRequest,
} from 'node:http';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { buffer } from 'node:stream/consumers';

/**
 * A `fetch` for requests to this process: each passes through all of HTTP, but over no network.
 * @param serve returns the listener when the first request is sent
 */
export function createInProcessFetch(serve: () => RequestListener): (request: Request) => Promise<Response> {
  let server: Server | undefined;
  return async (request) => {
    server ??= createServer(serve());
    const { pathname, search } = new URL(request.url);
    const body = Buffer.from(await request.arrayBuffer());
    const [near, far] = duplexPair();
    server.emit('connection', far);
    const outgoing = sendRequest({
      createConnection: () => near as Socket,
      method: request.method,
      path: pathname + search,
      headers: { ...Object.fromEntries(request.headers), 'content-length': body.length, connection: 'close' },
    });
    outgoing.end(body);
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const received = await buffer(response);
    return new Response(received.length === 0 ? null : new Uint8Array(received), {
      status: response.statusCode!,
      statusText: response.statusMessage!,
      headers: Object.entries(response.headers).flatMap(([name, value]) =>
        [value ?? []].flat().map((each): [string, string] => [name, each]),
      ),
    });
  };
}
