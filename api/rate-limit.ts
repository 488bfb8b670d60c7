import type { Middleware } from 'koa';
import { ServiceError } from '../domain/errors.js';
import type { RateLimit, RateLimitState } from '../storage/rate-limits.js';
import type { RequestState } from './request-context.js';

/** The rate limits; null means no limit. They hold over all API processes. */
export interface RateLimits {
  /** Requests with one key, in a second and in a minute. */
  burst: RateLimit | null;
  perMinute: RateLimit | null;
  /** Requests with an invalid key from one address. */
  failedLogins: RateLimit | null;
  /** Requests of review pages from one address. */
  reviews: RateLimit | null;
  /** Requests with one publishable key from one address. */
  publishable: RateLimit | null;
  /** Requests about one payment authentication. */
  authentication: RateLimit | null;
}

/**
 * Counts the requests of each key, after `authenticate`. All services share one instance, so a key has one count.
 * The `RateLimit` header (IETF draft) reports how many requests remain in the minute.
 * @throws ServiceError RATE_LIMITED with the seconds until the next request is allowed
 */
export function rateLimit({ burst, perMinute }: Pick<RateLimits, 'burst' | 'perMinute'>): Middleware<RequestState> {
  const message = 'This key has sent too many requests; retry later.';
  return async (ctx, next) => {
    const { key_id } = ctx.state.principal;
    // The second comes first: a request that it rejects does not count in the minute.
    await takeOrReject(burst, key_id, message);
    if (perMinute) {
      const state = await perMinute.take(key_id);
      ctx.set('RateLimit-Policy', `"minute";q=${perMinute.requests};w=60`);
      ctx.set('RateLimit', `"minute";r=${state.remaining};t=${state.seconds}`);
      rejectExcess(state, message);
    }
    await next();
  };
}

/**
 * Limits the requests with an invalid key from one address. Requests with a valid key are not affected, so that nobody
 * can lock out the others behind the same address. Requests without a key are not counted: they cost no search.
 * @throws ServiceError RATE_LIMITED instead of UNAUTHORIZED
 */
export function limitFailedLogins(limit: RateLimit | null): Middleware<RequestState> {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const failed = error instanceof ServiceError && error.code === 'UNAUTHORIZED' && !ctx.state.principal;
      if (failed && (ctx.get('Authorization') !== '' || ctx.get('api-key') !== '')) {
        await takeOrReject(
          limit,
          ctx.state.address,
          'Too many requests with an invalid key have come from this address.',
        );
      }
      throw error;
    }
  };
}

/** @throws ServiceError RATE_LIMITED */
export async function takeOrReject(limit: RateLimit | null, key: string, message: string): Promise<void> {
  if (limit) rejectExcess(await limit.take(key), message);
}

function rejectExcess({ allowed, seconds }: RateLimitState, message: string): void {
  if (!allowed) throw new ServiceError('RATE_LIMITED', message, { retryAfterSeconds: seconds });
}
