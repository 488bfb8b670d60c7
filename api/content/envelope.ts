import type { ServiceError } from '../../domain/errors.js';
import type { RequestContext } from '../context.js';

/** The content service's envelope, on success and failure alike (specification, "Errors"). */
export function answer(ctx: RequestContext, status: number, data: unknown): void {
  ctx.status = status;
  ctx.body = { success: true, data, error: null, meta: meta(ctx) };
}

/** Without the envelope, for the routes that the specification names. */
export function answerBare(ctx: RequestContext, status: number, data: unknown): void {
  ctx.status = status;
  ctx.body = data;
}

export function answerError(ctx: RequestContext, error: ServiceError): void {
  ctx.status = error.status;
  if (error.retryAfterSeconds !== undefined) ctx.set('Retry-After', String(Math.ceil(error.retryAfterSeconds)));
  ctx.body = {
    success: false,
    data: null,
    error: { code: error.shownAs ?? error.code, message: error.message },
    meta: meta(ctx),
  };
}

function meta(ctx: RequestContext) {
  return {
    request_id: ctx.state.request_id,
    latency_ms: Math.round((performance.now() - ctx.state.started) * 100) / 100,
  };
}
