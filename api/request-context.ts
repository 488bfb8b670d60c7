import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import { newRequestId } from '../domain/ids.js';
import type { RequestState } from './context.js';

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
