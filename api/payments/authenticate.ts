import type { RouterMiddleware } from '@koa/router';
import type { Middleware } from 'koa';
import type { Principal } from '../../domain/api-keys.js';
import { ServiceError } from '../../domain/errors.js';
import type { ApiKeys } from '../../storage/api-keys.js';
import type { RateLimit } from '../../storage/rate-limits.js';
import type { RequestContext, RequestState } from '../request-context.js';

/**
 * Requires the header `api-key` with a key of kind `payment_secret`.
 * @throws ServiceError UNAUTHORIZED, or FORBIDDEN for a valid key of another kind
 */
export function requireSecretKey(keys: ApiKeys): Middleware<RequestState> {
  return async (ctx, next) => {
    const principal = await findPrincipal(ctx, keys);
    if (!principal) {
      throw new ServiceError('UNAUTHORIZED', 'The api-key is missing, unknown, expired or revoked.');
    }
    if (principal.kind !== 'payment_secret') {
      throw new ServiceError('FORBIDDEN', `A key of kind ${principal.kind} is not allowed here; use a secret key.`);
    }
    ctx.state.principal = principal;
    await next();
  };
}

/**
 * Requires a payment key of either kind.
 * @throws ServiceError UNAUTHORIZED, the same error as for a wrong client secret
 */
export function requirePaymentKey(keys: ApiKeys): Middleware<RequestState> {
  return async (ctx, next) => {
    const principal = await findPrincipal(ctx, keys);
    if (principal?.kind !== 'payment_secret' && principal?.kind !== 'payment_publishable') throw invalidCredentials();
    ctx.state.principal = principal;
    await next();
  };
}

/**
 * The error for a wrong key, a wrong client secret, an unknown authentication and that of another organisation: clients
 * must not learn which.
 */
export function invalidCredentials(): ServiceError {
  return new ServiceError('UNAUTHORIZED', 'The api-key or the client_secret is not valid for this authentication.');
}

async function findPrincipal(ctx: RequestContext, keys: ApiKeys): Promise<Principal | null> {
  const key = ctx.get('api-key');
  return /^[\w-]{20,200}$/.test(key) ? keys.authenticate(key) : null;
}

/**
 * Limits the requests for one authentication, whether it exists or not. Each organisation and kind of key has its own
 * limit, so that neither strangers nor the customer's browser can use up that of the merchant's server.
 */
export function limitByAuthentication(limit: RateLimit): RouterMiddleware<RequestState> {
  return async (ctx, next) => {
    const { org, kind } = ctx.state.principal;
    const seconds = await limit.take(`${kind}/${org}/${ctx.params.id}`);
    if (seconds !== null) {
      throw new ServiceError('RATE_LIMITED', 'Too many requests for this authentication.', seconds);
    }
    await next();
  };
}
