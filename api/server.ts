/** The HTTP server, and the limits of its connections: their number, requests sent ahead, and slow senders. */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Middleware } from 'koa';
import { type AllowedCidr, addressKey, isInRanges } from '../domain/address-rules.js';
import { createSemaphore } from '../domain/semaphore.js';
import type { RequestState } from './request-context.js';
import { serveInOrder } from './requests-ahead.js';

export interface ServerLimits {
  /** How long the headers of a request may take to arrive. */
  slowRequestSeconds: number;
  /** Open connections of one address; 0: no limit. */
  connectionsPerAddress: number;
  /** Proxies, which have the connections of many clients. */
  trustedProxies: readonly AllowedCidr[];
}

/** Line and headers of a request: a query may name a thousand ids, each with its separator (Node's default: 16 KiB). */
const MAX_HEADER_BYTES = 64 * 1024;
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
  const options = {
    headersTimeout: slowRequestSeconds * 1000,
    maxHeaderSize: MAX_HEADER_BYTES,
    requestTimeout: UPLOAD_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: CHECK_CONNECTIONS_MS,
  };
  const server = createServer(options, serveInOrder(withPaths(serve)));
  // Also ends responses that nobody reads.
  server.setTimeout(slowRequestSeconds * SILENCE_FACTOR * 1000);
  if (connectionsPerAddress > 0) server.on('connection', limitConnections(connectionsPerAddress, trustedProxies));
  return server;
}

/**
 * Requests whose target is a path with its query. Others are rejected like a request that is not HTTP: whatever reads a path from
 * `http://[/` or `/\a@[#` would throw, outside of the handling of errors too.
 */
function withPaths(serve: RequestListener): RequestListener {
  return (req, res) => {
    const path = pathOf(req.url!);
    if (path === null) {
      res.writeHead(400, { Connection: 'close' }).end();
      return;
    }
    req.url = path;
    serve(req, res);
  };
}

/**
 * The path and query of a target, which may be an address, as proxies send it (RFC 9112, 3.2). Neither has `#` or `\`.
 * @returns null for anything else
 */
function pathOf(target: string): string | null {
  if (/[#\\]/.test(target)) return null;
  if (/^(\/|\*$)/.test(target)) return target;
  if (!/^https?:\/\//i.test(target) || !URL.canParse(target)) return null;
  const { pathname, search } = new URL(target);
  return pathname + search;
}

export interface SlowRequestLimits {
  /** For the headers, and for the body of a request without a valid key. */
  seconds: number;
  /** The rate at which forms must arrive; 0: any. */
  uploadBytesPerSecond: number;
}

/** A body that is not a form must arrive within this many times the limit of the headers; the rate of forms is measured over the same time. */
const BODY_FACTOR = 6;

/**
 * Closes the connections of requests whose body arrives too slowly: without a valid key `seconds` after the response,
 * which does not wait for the body, and with a key when a body that is not a form takes `BODY_FACTOR` times as long.
 * Forms are uploads, which may be slow for good reasons: they must arrive at a rate. The server limits all requests
 * itself (`requestTimeout`).
 */
export function cutSlowBodies({ seconds, uploadBytesPerSecond }: SlowRequestLimits): Middleware<RequestState> {
  return async (ctx, next) => {
    const { req, res, state } = ctx;
    if (hasBody(req)) {
      const cutAfter = (limit: number) => {
        const timer = setTimeout(() => req.complete || req.destroy(), limit * 1000).unref();
        req.once('close', () => clearTimeout(timer));
      };
      if (!ctx.is('multipart')) cutAfter(seconds * BODY_FACTOR);
      else if (uploadBytesPerSecond > 0) requireRate(req, uploadBytesPerSecond, seconds * BODY_FACTOR);
      res.once('finish', () => state.principal || req.complete || cutAfter(seconds));
    }
    await next();
  };
}

/** Closes the connection of a request that stays below a rate for so many seconds although its bytes are read at once. */
function requireRate(req: IncomingMessage, bytesPerSecond: number, seconds: number): void {
  const { socket } = req;
  let before = socket.bytesRead;
  const timer = setInterval(() => {
    const received = socket.bytesRead - before;
    before += received;
    if (req.complete) clearInterval(timer);
    // Bytes that nobody has read yet wait for us, not for the client.
    else if (received < bytesPerSecond * seconds && req.readableLength === 0) req.destroy();
  }, seconds * 1000).unref();
  req.once('close', () => clearInterval(timer));
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * Limits the open connections of one address, so that nobody can use up all that the process may open.
 * @param trusted ranges of proxies, which have the connections of many clients
 * @returns a listener for `connection`, which closes the connections beyond the limit
 */
export function limitConnections(max: number, trusted: readonly AllowedCidr[]): (socket: Socket) => void {
  const places = createSemaphore({ perOwner: max });
  return (socket) => {
    const address = socket.remoteAddress;
    if (address === undefined || isInRanges(address, trusted)) return;
    const leave = places.tryAcquire(addressKey(address) ?? address);
    if (leave) socket.once('close', leave);
    else socket.destroy();
  };
}
