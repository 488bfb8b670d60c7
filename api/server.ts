import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { AllowedCidr } from '../domain/address-rules.js';
import { limitConnections } from './slow-requests.js';

export interface ServerLimits {
  /** How long the headers of a request may take to arrive. */
  slowRequestSeconds: number;
  /** Open connections of one address; 0: no limit. */
  connectionsPerAddress: number;
  /** Proxies, which have the connections of many clients. */
  trustedProxies: readonly AllowedCidr[];
}

/** How long a request may take to arrive. Node's default of five minutes would cut off large uploads. */
const UPLOAD_TIMEOUT_MS = 60 * 60 * 1000;
/** How often connections are checked for requests that have taken too long (Node's default: 30 s). */
const CHECK_CONNECTIONS_MS = 1_000;
/**
 * How long an idle connection stays open. Clients and load balancers close theirs after a minute at most by default. The
 * side that closes first may cut off a request that is on its way, so it must not be the server (Node's default: 5 s).
 */
const KEEP_ALIVE_MS = 65_000;
/** A client that neither sends nor reads any byte for this many times the limit of the headers is gone. */
const SILENCE_FACTOR = 12;

/** The HTTP server of the API. It bounds what a connection may cost, before the application sees its requests. */
export function createApiServer(serve: RequestListener, limits: ServerLimits): Server {
  const { slowRequestSeconds, connectionsPerAddress, trustedProxies } = limits;
  const server = createServer(
    {
      headersTimeout: slowRequestSeconds * 1000,
      requestTimeout: UPLOAD_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: CHECK_CONNECTIONS_MS,
    },
    oneAtATime(serve),
  );
  // Also ends responses that nobody reads.
  server.setTimeout(slowRequestSeconds * SILENCE_FACTOR * 1000);
  if (connectionsPerAddress > 0) server.on('connection', limitConnections(connectionsPerAddress, trustedProxies));
  return server;
}

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
