import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ServiceError } from '../domain/errors.js';
import { withPauses } from '../domain/event-loop.js';
import {
  type IdempotencyClaim,
  type IdempotencyKeys,
  requestInProgress,
  type SavedResponse,
} from '../storage/idempotency-keys.js';
import type { RequestContext } from './request-context.js';

export const idempotencyKeySchema = z
  .string()
  .regex(/^[\x20-\x7e]{1,255}$/, 'must have 1 to 255 printable ASCII characters')
  .meta({
    description:
      'The work of the request is done once: a repeated request with the same key and body returns the first response, with ' +
      '`Idempotent-Replayed: true`. The same key with another body is an error. Only 2xx responses are saved.',
  });

/** Response headers that a repeated request gets too. */
const SAVED_HEADERS = ['Content-Type', 'Location', 'Deprecation'];

/**
 * Does the work of a request once per `Idempotency-Key`: the same request sent again gets the first response, byte for
 * byte. Only 2xx responses are saved: with any other response no work has started, and a repeated request runs again.
 * While `work` runs, `ctx.state.saveResponseWith` saves the response in the transaction of the work.
 * @param content returns the content that must be equal in a repeated request, besides method and URL, in pieces that are hashed with
 * pauses for other requests; called only with a key
 * @throws ServiceError INVALID_PARAMETERS for a malformed key, IDEMPOTENCY_CONFLICT when the key was sent with another
 * request, IDEMPOTENCY_IN_PROGRESS while the first request runs
 */
export async function respondOnce(
  ctx: RequestContext,
  keys: IdempotencyKeys,
  content: () => Iterable<string | Uint8Array>,
  work: () => Promise<unknown>,
): Promise<void> {
  const sent = ctx.headers['idempotency-key'];
  if (sent === undefined) {
    await work();
    return;
  }
  const { data: key, error } = idempotencyKeySchema.safeParse(sent);
  if (error) throw new ServiceError('INVALID_PARAMETERS', `Idempotency-Key: ${error.issues[0]?.message}`);
  const scope = { org: ctx.state.principal.org, route: `${ctx.method} ${ctx._matchedRoute}`, key };
  const fingerprint = createHash('sha256').update(`${ctx.method} ${ctx.url}\n`);
  for await (const piece of withPauses(content())) fingerprint.update(piece);
  const outcome = await keys.claim(scope, fingerprint.digest('hex'));
  if (outcome.state === 'claimed') await runClaimed(ctx, keys, outcome.claim, work);
  else if (outcome.state === 'saved') replay(ctx, outcome.response);
  else if (outcome.state === 'in progress') throw requestInProgress();
  else throw new ServiceError('IDEMPOTENCY_CONFLICT', 'This Idempotency-Key was sent with another request.');
}

async function runClaimed(
  ctx: RequestContext,
  keys: IdempotencyKeys,
  claim: IdempotencyClaim,
  work: () => Promise<unknown>,
): Promise<void> {
  let saved = false;
  let succeeded = false;
  ctx.state.saveResponseWith = async (write) => {
    const result = await keys.saveWith(claim, () => currentResponse(ctx), write);
    saved = true;
    return result;
  };
  try {
    await work();
    if (ctx.status >= 200 && ctx.status < 300) {
      if (!saved) await ctx.state.saveResponseWith(async () => undefined);
      succeeded = true;
    }
  } finally {
    // Does not remove a saved response. If the release fails, the claim expires.
    if (!succeeded) await keys.release(claim).catch(() => undefined);
  }
}

function currentResponse(ctx: RequestContext): SavedResponse {
  const headers = SAVED_HEADERS.flatMap((name) => {
    const value = ctx.response.get(name);
    return value === '' ? [] : [[name, value]];
  });
  return { status: ctx.status, headers: Object.fromEntries(headers), body: JSON.stringify(ctx.body ?? null) };
}

function replay(ctx: RequestContext, { status, headers, body }: SavedResponse): void {
  ctx.status = status;
  ctx.body = body;
  ctx.set(headers);
  ctx.set('Idempotent-Replayed', 'true');
}
