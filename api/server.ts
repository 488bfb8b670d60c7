import { createServer, type RequestListener, type Server } from 'node:http';
import type { AllowedCidr } from '../domain/address-rules.js';
import { oneAtATime } from './pipelining.js';
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
