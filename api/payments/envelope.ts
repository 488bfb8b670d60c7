import type { ServiceError } from '../../domain/errors.js';
import type { RequestContext } from '../context.js';

/** Errors of the payment service: `{error: {type, code, message}}`, the type telling a client what to do about it. */
export function answerError(ctx: RequestContext, error: ServiceError): void {
  ctx.status = error.status;
  if (error.retryAfterSeconds !== undefined) ctx.set('Retry-After', String(Math.ceil(error.retryAfterSeconds)));
  ctx.body = { error: { type: typeOf(error.status), code: error.code, message: error.message } };
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'api_error' : 'invalid_request_error';
}
