import type { Middleware } from 'koa';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ServiceError } from '../domain/errors.js';
import type { RequestState } from './request-context.js';

/** Requests that one key may send to one process; 0 is no limit. */
export interface RateLimits {
  perMinute: number;
  /** Within one second. */
  burst: number;
}

/**
 * Counts the requests of each key, after `authenticate`. All services share one instance, so a key has one count.
 * The `RateLimit` header (IETF draft) reports how many requests remain in the minute.
 * @throws ServiceError RATE_LIMITED with the seconds until the next request is allowed
 */
export function rateLimit({ perMinute, burst }: RateLimits): Middleware<RequestState> {
  const second = burst > 0 ? new RateLimiterMemory({ points: burst, duration: 1 }) : null;
  const minute = perMinute > 0 ? new RateLimiterMemory({ points: perMinute, duration: 60 }) : null;
  return async (ctx, next) => {
    const { key_id } = ctx.state.principal;
    // The second comes first: a request that it rejects does not count in the minute.
    if (second) rejectExcess(second, await count(second, key_id));
    if (minute) {
      const counted = await count(minute, key_id);
      ctx.set('RateLimit-Policy', `"minute";q=${perMinute};w=60`);
      ctx.set('RateLimit', `"minute";r=${counted.remainingPoints};t=${secondsLeft(counted)}`);
      rejectExcess(minute, counted);
    }
    await next();
  };
}

/** @returns the count of the key, also when it is over the limit: the library throws the count then */
async function count(limiter: RateLimiterMemory, key: string): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key);
  } catch (reason) {
    if (reason instanceof RateLimiterRes) return reason;
    throw reason;
  }
}

function rejectExcess(limiter: RateLimiterMemory, counted: RateLimiterRes): void {
  if (counted.consumedPoints <= limiter.points) return;
  throw new ServiceError('RATE_LIMITED', 'This key has sent too many requests; retry later.', secondsLeft(counted));
}

/** Until the count starts again. */
function secondsLeft({ msBeforeNext }: RateLimiterRes): number {
  return Math.max(1, Math.ceil(msBeforeNext / 1000));
}
