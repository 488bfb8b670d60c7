import type { RouterMiddleware } from '@koa/router';
import { ServiceError } from '../../domain/errors.js';
import type { RateLimit } from '../../storage/rate-limits.js';
import type { RequestState } from '../context.js';

/**
 * Limits requests about one authentication, whether it exists or not. Counted by organisation and kind of key, so that
 * neither a stranger nor the customer's browser can use up what the merchant's server may ask.
 */
export function limitByAuthentication(limit: RateLimit): RouterMiddleware<RequestState> {
  return async (ctx, next) => {
    const { org, kind } = ctx.state.principal;
    const seconds = await limit.take(`${kind}/${org}/${ctx.params.id}`);
    if (seconds !== null) {
      throw new ServiceError('RATE_LIMITED', 'Too many requests about this authentication.', seconds);
    }
    await next();
  };
}
