import type { IncomingMessage } from 'node:http';
import type { Middleware, ParameterizedContext } from 'koa';
import type { ClientSession } from 'mongodb';
import type { Logger } from 'pino';
import { type AllowedCidr, addressKey, isInRanges, unmapped } from '../domain/address-rules.js';
import type { Principal } from '../domain/api-keys.js';
import type { ErrorCode } from '../domain/errors.js';
import { newRequestId } from '../domain/ids.js';
import type { SentNames } from '../domain/payments/card-networks.js';
import type { Audit } from '../storage/audit.js';

/** What the middleware knows about a request. */
export interface RequestState {
  request_id: string;
  /** `performance.now()` at arrival. */
  started: number;
  /** The client's address; see `clientAddress`. */
  from: string;
  /** By what requests are limited: an IPv4 address, or the /64 network of an IPv6 address, which one client can use as a whole. */
  address: string;
  /** Records acts of administrators; see `AuditDeclaration`. */
  audit: Pick<Audit, 'record'>;
  /** Set by authentication: absent on routes that need no key. */
  principal: Principal;
  /** Reserves memory for a body of so many bytes, until the response. @throws ServiceError RATE_LIMITED */
  holdBody?: (bytes: number) => void;
  /**
   * Reserves memory for the response, until the client has read it.
   * @param rejects false: work has been done, and its response is sent in any case
   * @throws ServiceError RATE_LIMITED
   */
  holdResponse?: (rejects: boolean) => void;
  /** The card networks of an eligibility check, as the request names them. */
  sentNetworks?: SentNames;
  /** Error codes that this route reports under another name. */
  errorCodeAliases?: Partial<Record<ErrorCode, ErrorCode>>;
  /** Set while a request with an `Idempotency-Key` runs, for `respondWith`: runs the writes and saves the response in one transaction. */
  saveResponseWith?: <Result>(write: (tx: ClientSession) => Promise<Result>) => Promise<Result>;
}

export type RequestContext = ParameterizedContext<RequestState>;

/** A client's own request id is used when it is harmless in a log line and a header. */
const SAFE_REQUEST_ID = /^[\w.:/+=@-]{1,128}$/;

/** What the requests to this process have said about proxies. */
export interface ProxySigns {
  /** Whether a peer that is not trusted has sent `X-Forwarded-For`: probably a proxy that POSTBACK_TRUSTED_PROXIES lacks. */
  untrustedForwarding: boolean;
}

/** Sets the request id, the client's address and the arrival time, and logs one line per request: never a header, a query value or a body. */
export function requestContext(
  log: Logger,
  trustedProxies: readonly AllowedCidr[],
  signs: ProxySigns,
): Middleware<RequestState> {
  return async (ctx, next) => {
    if (
      !signs.untrustedForwarding &&
      ctx.get('X-Forwarded-For') !== '' &&
      !isInRanges(ctx.req.socket.remoteAddress ?? '', trustedProxies)
    ) {
      signs.untrustedForwarding = true;
      log.warn(
        { peer: ctx.req.socket.remoteAddress },
        'X-Forwarded-For of a peer that is not trusted is ignored: behind a proxy all clients share its limits until POSTBACK_TRUSTED_PROXIES names it',
      );
    }
    const sent = ctx.get('X-Request-Id');
    ctx.state.request_id = SAFE_REQUEST_ID.test(sent) ? sent : newRequestId();
    ctx.state.started = performance.now();
    ctx.state.from = clientAddress(ctx.req, trustedProxies);
    ctx.state.address = addressKey(ctx.state.from) ?? ctx.state.from;
    ctx.set('X-Request-Id', ctx.state.request_id);
    await next();
    log.info(
      {
        request_id: ctx.state.request_id,
        method: ctx.method,
        path: ctx.path,
        status: ctx.status,
        org: ctx.state.principal?.org,
        key_id: ctx.state.principal?.key_id,
        latency_ms: Math.round(performance.now() - ctx.state.started),
      },
      'request',
    );
  };
}

/** Proxies in one request. */
const MAX_HOPS = 20;

/**
 * Where a request comes from: the address of the socket, or behind trusted proxies the last address in `X-Forwarded-For` that is
 * not of a trusted proxy. Clients write the part of the header before it.
 * @param trusted ranges of the proxies that set the header
 */
function clientAddress({ socket, headers }: IncomingMessage, trusted: readonly AllowedCidr[]): string {
  let address = socket.remoteAddress ?? '';
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',').slice(-MAX_HOPS).reverse();
  for (const hop of forwarded) {
    const next = withoutPort(hop.trim());
    if (!isInRanges(address, trusted) || addressKey(next) === null) break;
    address = next;
  }
  return unmapped(address);
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop;
}
