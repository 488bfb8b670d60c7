import type { Middleware } from 'koa';
import { ServiceError } from '../domain/errors.js';
import type { RequestState } from './request-context.js';

/** Bytes of each request that do not count: small requests are never rejected. */
const FREE_BYTES = 64 * 1024;

/**
 * Limits the memory that the bodies of all requests hold together: JSON, and the text fields of forms. One organisation
 * may use half of it. Files do not count, because they are stored while they arrive.
 *
 * It sets `ctx.state.holdBody`, which reserves memory until the response. Without room it throws ServiceError RATE_LIMITED to an
 * organisation that has used its share, and SERVICE_UNAVAILABLE when others have used up the rest.
 */
export function limitBodyMemory(maxBytes: number): Middleware<RequestState> {
  let total = 0;
  const byOrg = new Map<string, number>();
  const take = (org: string, bytes: number) => {
    total += bytes;
    const held = (byOrg.get(org) ?? 0) + bytes;
    if (held === 0) byOrg.delete(org);
    else byOrg.set(org, held);
  };
  return async (ctx, next) => {
    let held = 0;
    let ended = false;
    ctx.state.holdBody = (bytes) => {
      // A body may still arrive after the response, and is discarded.
      if (ended) return;
      const more = bytes - FREE_BYTES - held;
      if (more <= 0) return;
      const { org } = ctx.state.principal;
      if ((byOrg.get(org) ?? 0) + more > maxBytes / 2) throw tooLarge('RATE_LIMITED', 'of your organisation ');
      if (total + more > maxBytes) throw tooLarge('SERVICE_UNAVAILABLE', '');
      held += more;
      take(org, more);
    };
    try {
      await next();
    } finally {
      ended = true;
      if (held > 0) take(ctx.state.principal.org, -held);
    }
  };
}

function tooLarge(code: 'RATE_LIMITED' | 'SERVICE_UNAVAILABLE', whose: string): ServiceError {
  return new ServiceError(code, `Too many large requests ${whose}are in progress; retry later.`, {
    retryAfterSeconds: 1,
  });
}
