import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of all connections that may wait for the one before them. Each takes about 4 kB. */
const MAX_WAITING = 5_000;

type Exchange = [IncomingMessage, ServerResponse];

/**
 * Serves the requests of a connection one after the other, and lets other connections run between two of them. Node starts
 * all requests that a client has sent ahead (pipelining), up to thousands at once. A connection is not read while a request
 * waits; it is closed when too many wait in the process.
 */
export function oneAtATime(serve: RequestListener): RequestListener {
  const connections = new WeakMap<Socket, Exchange[]>();
  let waiting = 0;

  function start(socket: Socket, [req, res]: Exchange): void {
    // Emitted after the response, and also when the connection ends.
    res.once('close', () => setImmediate(next, socket));
    serve(req, res);
  }

  function next(socket: Socket): void {
    const queue = connections.get(socket)!;
    if (socket.destroyed) waiting -= queue.splice(0).length;
    const exchange = queue.shift();
    if (!exchange) return void connections.delete(socket);
    waiting -= 1;
    if (queue.length === 0) socket.resume();
    start(socket, exchange);
  }

  return (req, res) => {
    const { socket } = req;
    const queue = connections.get(socket);
    if (!queue) {
      connections.set(socket, []);
      start(socket, [req, res]);
    } else if (!socket.destroyed) {
      // What has been read already goes on to arrive.
      socket.pause();
      waiting += 1;
      queue.push([req, res]);
      if (waiting > MAX_WAITING) socket.destroy();
    }
  };
}
