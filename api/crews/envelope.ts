import { STATUS_CODES } from 'node:http';
import type { ServiceError } from '../../domain/errors.js';
import type { RequestContext } from '../context.js';

/** Errors of the crew service: `{error, message}`, the title and the detail. What breaks a rule is 400 here, never 422. */
export function answerError(ctx: RequestContext, error: ServiceError): void {
  ctx.status = error.status === 422 ? 400 : error.status;
  if (error.retryAfterSeconds !== undefined) ctx.set('Retry-After', String(Math.ceil(error.retryAfterSeconds)));
  ctx.body = { error: STATUS_CODES[ctx.status], message: error.message };
}
