import type { Middleware } from 'koa';
import { ServiceError } from '../domain/errors.js';
import type { RequestState } from './request-context.js';

/** Bytes of each request that do not count: small requests are never rejected. */
const FREE_BYTES = 64 * 1024;

/**
 * Limits the memory that the bodies of all requests hold together: JSON, and the text fields of forms. One organisation, or one
 * address without a key, may use half of it. Files do not count, because they are stored while they arrive.
 *
 * It sets `ctx.state.holdBody`, which reserves memory until the response. Without room it throws ServiceError RATE_LIMITED to an
 * client that has used its share, and SERVICE_UNAVAILABLE when others have used up the rest.
 */
export function limitBodyMemory(maxBytes: number): Middleware<RequestState> {
  let total = 0;
  const byOwner = new Map<string, number>();
  const take = (owner: string, bytes: number) => {
    total += bytes;
    const held = (byOwner.get(owner) ?? 0) + bytes;
    if (held === 0) byOwner.delete(owner);
    else byOwner.set(owner, held);
  };
  return async (ctx, next) => {
    let held = 0;
    let owner = '';
    let ended = false;
    ctx.state.holdBody = (bytes) => {
      // A body may still arrive after the response, and is discarded.
      if (ended) return;
      const more = bytes - FREE_BYTES - held;
      if (more <= 0) return;
      const { principal, address } = ctx.state;
      owner = principal ? `organisation ${principal.org}` : `address ${address}`;
      if ((byOwner.get(owner) ?? 0) + more > maxBytes / 2) {
        throw tooLarge('RATE_LIMITED', principal ? 'of your organisation ' : 'from your address ');
      }
      if (total + more > maxBytes) throw tooLarge('SERVICE_UNAVAILABLE', '');
      held += more;
      take(owner, more);
    };
    try {
      await next();
    } finally {
      ended = true;
      if (held > 0) take(owner, -held);
    }
  };
}

function tooLarge(code: 'RATE_LIMITED' | 'SERVICE_UNAVAILABLE', whose: string): ServiceError {
  return new ServiceError(code, `Too many large requests ${whose}are in progress; retry later.`, {
    retryAfterSeconds: 1,
  });
}
