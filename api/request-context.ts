import type { Middleware, ParameterizedContext } from 'koa';
import type { ClientSession } from 'mongodb';
import type { Logger } from 'pino';
import type { Principal } from '../domain/api-keys.js';
import type { ErrorCode } from '../domain/errors.js';
import { newRequestId } from '../domain/ids.js';

/** What a request carries along on its way through the middleware. */
export interface RequestState {
  request_id: string;
  /** `performance.now()` at arrival. */
  started: number;
  /** Set by authentication; routes behind it may rely on it. */
  principal: Principal;
  /** Error codes that the clients of this route know by another name. */
  shownAs?: Partial<Record<ErrorCode, ErrorCode>>;
  /** Set while a request with an `Idempotency-Key` runs; `respondWith` uses it. */
  saveResponseWith?: <Result>(write: (tx: ClientSession) => Promise<Result>) => Promise<Result>;
}

export type RequestContext = ParameterizedContext<RequestState>;

/** A client's own request id is taken when it is harmless in a log line and a header. */
const SANE_REQUEST_ID = /^[\w.:/+=@-]{1,128}$/;

/** Request id, arrival time and one log line a request. Never logs a header, a query value or a body. */
export function requestContext(log: Logger): Middleware<RequestState> {
  return async (ctx, next) => {
    const sent = ctx.get('X-Request-Id');
    ctx.state.request_id = SANE_REQUEST_ID.test(sent) ? sent : newRequestId();
    ctx.state.started = performance.now();
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
