import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one connection that may wait for the one before them. Clients that send ahead (pipelining) send a few. */
const MAX_AHEAD = 100;

/**
 * Serves the requests of a connection one after the other. Node would start all that have arrived at once. A connection with
 * more than `MAX_AHEAD` of them is closed.
 */
export function serveInOrder(serve: RequestListener): RequestListener {
  const ahead = new WeakMap<Socket, [IncomingMessage, ServerResponse][]>();
  return (req, res) => {
    const { socket } = req;
    // Node goes on with what it has read of a connection that was closed.
    if (socket.destroyed) return;
    const waiting = ahead.get(socket);
    if (!waiting) {
      ahead.set(socket, []);
      start(req, res);
    } else if (waiting.push([req, res]) > MAX_AHEAD) socket.destroy();
  };

  function start(req: IncomingMessage, res: ServerResponse): void {
    // Emitted after the response, and also when the connection ends. Other connections run before the next request.
    res.once('close', () => setImmediate(next, req.socket));
    serve(req, res);
  }

  function next(socket: Socket): void {
    const exchange = ahead.get(socket)!.shift();
    if (exchange && !socket.destroyed) start(...exchange);
    else ahead.delete(socket);
  }
}
