import { Readable } from 'node:stream';
import type { Middleware } from 'koa';
import { ServiceError } from '../domain/errors.js';
import type { RequestState } from './request-context.js';

/** Bytes of each request, and of each response, that do not count: small ones are never rejected. */
const FREE_BYTES = 64 * 1024;

/**
 * Limits the memory that the bodies of all requests hold together: JSON, and the text fields of forms; and JSON responses, until
 * their clients have read them. One organisation, or one address without a key, may use half of it. Files do not count, because
 * they are stored while they arrive, and read while they are sent.
 *
 * It sets `ctx.state.holdBody`, which reserves memory until the response, and `ctx.state.holdResponse`. Without room both throw
 * ServiceError RATE_LIMITED to a client that has used its share, and SERVICE_UNAVAILABLE when others have used up the rest.
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
    const reserve = (more: number, rejects = true) => {
      const { principal, address } = ctx.state;
      owner = principal ? `organisation ${principal.org}` : `address ${address}`;
      if (rejects && (byOwner.get(owner) ?? 0) + more > maxBytes / 2) {
        throw tooLarge('RATE_LIMITED', principal ? 'of your organisation ' : 'from your address ');
      }
      if (rejects && total + more > maxBytes) throw tooLarge('SERVICE_UNAVAILABLE', '');
      take(owner, more);
    };
    ctx.state.holdBody = (bytes) => {
      // A body may still arrive after the response, and is discarded.
      if (ended) return;
      const more = bytes - FREE_BYTES - held;
      if (more <= 0) return;
      reserve(more);
      held += more;
    };
    ctx.state.holdResponse = (rejects) => {
      const { body, res } = ctx;
      if (res.closed || body === null || !/^(string|object)$/.test(typeof body) || isBytes(body)) return;
      // As Koa would write it a moment later.
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      // One that is larger than the share is sent while nothing else is.
      const size = Math.min(text.length, maxBytes / 2) - FREE_BYTES;
      if (size > 0) {
        reserve(size, rejects);
        res.once('close', () => take(owner, -size));
      }
      ctx.body = text;
    };
    try {
      await next();
    } finally {
      ended = true;
      if (held > 0) take(owner, -held);
    }
  };
}

/** Streams are sent piece by piece, and buffers are shared. */
function isBytes(body: unknown): boolean {
  return Buffer.isBuffer(body) || body instanceof Readable;
}

function tooLarge(code: 'RATE_LIMITED' | 'SERVICE_UNAVAILABLE', whose: string): ServiceError {
  return new ServiceError(code, `Too many large requests ${whose}are in progress; retry later.`, {
    retryAfterSeconds: 1,
  });
}
