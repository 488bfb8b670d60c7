import type { Middleware } from 'koa';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ServiceError } from '../domain/errors.js';
import type { RequestState } from './request-context.js';

/** What one key may do at this process; 0 is no limit. */
export interface RateLimits {
  perMinute: number;
  /** Within one second. */
  burst: number;
}

/**
 * Counts the requests of each key, behind `authenticate`. One of these serves all services, so a key has one account.
 * Answers tell by `RateLimit` (IETF draft) what is left of the minute.
 * @throws ServiceError RATE_LIMITED with the seconds until there is room again
 */
export function rateLimit({ perMinute, burst }: RateLimits): Middleware<RequestState> {
  const second = burst > 0 ? new RateLimiterMemory({ points: burst, duration: 1 }) : null;
  const minute = perMinute > 0 ? new RateLimiterMemory({ points: perMinute, duration: 60 }) : null;
  return async (ctx, next) => {
    const { key_id } = ctx.state.principal;
    // The second first: what it refuses is not taken from the minute.
    if (second) await take(second, key_id);
    if (minute) {
      ctx.set('RateLimit-Policy', `"minute";q=${perMinute};w=60`);
      const left = await minute.consume(key_id).catch(refusal);
      ctx.set('RateLimit', `"minute";r=${left.remainingPoints};t=${seconds(left)}`);
      if (left.consumedPoints > perMinute) throw limited(left);
    }
    await next();
  };
}

async function take(limiter: RateLimiterMemory, key: string): Promise<void> {
  const left = await limiter.consume(key).catch(refusal);
  if (left.consumedPoints > limiter.points) throw limited(left);
}

/** The library rejects with the account itself when nothing is left. */
function refusal(reason: unknown): RateLimiterRes {
  if (reason instanceof RateLimiterRes) return reason;
  throw reason;
}

function limited(left: RateLimiterRes): ServiceError {
  return new ServiceError('RATE_LIMITED', 'This key has sent too many requests; come back later.', seconds(left));
}

function seconds({ msBeforeNext }: RateLimiterRes): number {
  return Math.max(1, Math.ceil(msBeforeNext / 1000));
}
