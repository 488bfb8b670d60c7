import type { Middleware } from 'koa';
import { ServiceError } from '../../domain/errors.js';
import type { ApiKeys } from '../../storage/api-keys.js';
import type { RateLimit } from '../../storage/rate-limits.js';
import { findPrincipal } from '../authenticate.js';
import { takeOrReject } from '../rate-limit.js';
import type { RequestState } from '../request-context.js';

/**
 * Requires a payment key of either kind.
 * @throws ServiceError UNAUTHORIZED, the same error as for a wrong client secret
 */
export function requirePaymentKey(keys: ApiKeys): Middleware<RequestState> {
  return async (ctx, next) => {
    const principal = await findPrincipal(ctx, keys, 'api-key');
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

/**
 * Anybody may hold a publishable key, so each address has a limit of its own. A secret key has the limit of every key. Requires
 * `requirePaymentKey`.
 */
export function limitPaymentKey(
  publishable: RateLimit | null,
  secret: Middleware<RequestState>,
): Middleware<RequestState> {
  return async (ctx, next) => {
    const { key_id, kind } = ctx.state.principal;
    if (kind !== 'payment_publishable') return secret(ctx, next);
    await takeOrReject(
      publishable,
      `${key_id}/${ctx.state.address}`,
      'This address has sent too many requests; retry later.',
    );
    await next();
  };
}

/** Who sends a request about an authentication. */
type Sender =
  | 'merchant'
  /** With the right client secret. */
  | 'customer'
  /** With a wrong client secret, or about an unknown authentication. */
  | 'stranger';

/**
 * Counts a request about one authentication, whether it exists or not. Each kind of sender has a limit of its own, so that
 * strangers cannot use up that of the customer, nor the customer's browser that of the merchant's server.
 * @throws ServiceError RATE_LIMITED
 */
export function countRequest(limit: RateLimit | null, sender: Sender, org: string, id: string): Promise<void> {
  return takeOrReject(limit, `${sender}/${org}/${id}`, 'Too many requests for this authentication.');
}
