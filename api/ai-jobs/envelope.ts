import type { ServiceError } from '../../domain/errors.js';
import type { RequestContext } from '../context.js';

/** Errors of the AI job service: `{error: {code, message}}`. */
export function answerError(ctx: RequestContext, error: ServiceError): void {
  ctx.status = error.status;
  if (error.retryAfterSeconds !== undefined) ctx.set('Retry-After', String(Math.ceil(error.retryAfterSeconds)));
  ctx.body = { error: { code: error.code, message: error.message } };
}
