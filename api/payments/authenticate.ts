import type { RouterMiddleware } from '@koa/router';
import type { Middleware } from 'koa';
import type { Principal } from '../../domain/api-keys.js';
import { ServiceError } from '../../domain/errors.js';
import type { ApiKeys } from '../../storage/api-keys.js';
import type { RateLimit } from '../../storage/rate-limits.js';
import type { RequestContext, RequestState } from '../request-context.js';

/** `api-key: <key>` of the kind `payment_secret`, else 401 (or 403 for a good key of another kind). */
export function requireSecretKey(keys: ApiKeys): Middleware<RequestState> {
  return async (ctx, next) => {
    const principal = await findPrincipal(ctx, keys);
    if (!principal) {
      throw new ServiceError('UNAUTHORIZED', 'The api-key is missing, unknown, expired or revoked.');
    }
    if (principal.kind !== 'payment_secret') {
      throw new ServiceError('FORBIDDEN', `This needs a secret key; a key of kind ${principal.kind} does not do.`);
    }
    ctx.state.principal = principal;
    await next();
  };
}

/** A payment key of either kind; every other key is refused like a wrong client secret, with no hint which it was. */
export function requirePaymentKey(keys: ApiKeys): Middleware<RequestState> {
  return async (ctx, next) => {
    const principal = await findPrincipal(ctx, keys);
    if (principal?.kind !== 'payment_secret' && principal?.kind !== 'payment_publishable') throw invalidCredentials();
    ctx.state.principal = principal;
    await next();
  };
}

/** The one answer to a wrong key, a wrong client secret, an unknown authentication and another organisation's. */
export function invalidCredentials(): ServiceError {
  return new ServiceError('UNAUTHORIZED', 'The api-key or the client_secret is not right for this authentication.');
}

async function findPrincipal(ctx: RequestContext, keys: ApiKeys): Promise<Principal | null> {
  const key = ctx.get('api-key');
  return /^[\w-]{20,200}$/.test(key) ? keys.authenticate(key) : null;
}

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
