import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ServiceError } from '../domain/errors.js';
import {
  type IdempotencyClaim,
  type IdempotencyKeys,
  type KeptAnswer,
  requestUnderWay,
} from '../storage/idempotency-keys.js';
import type { RequestContext } from './context.js';

export const idempotencyKeySchema = z
  .string()
  .regex(/^[\x20-\x7e]{1,255}$/, 'must have 1 to 255 printable ASCII characters')
  .meta({
    description:
      'Carries the request out once: the same key and body give the first answer again, with `Idempotent-Replayed: true`; ' +
      'another body is refused. Only answers of 2xx are kept.',
  });

/** Headers that belong to an answer and not to the request it was given to. */
const KEPT_HEADERS = ['Content-Type', 'Location', 'Deprecation'];

/**
 * Carries a request out once per `Idempotency-Key`: the same request again gets the first answer, word for word.
 * Kept are answers of 2xx only. Whatever else is answered has started no work, so a repeat is judged anew.
 * While it runs, `ctx.state.keepAnswer` keeps the answer in a transaction of the work's own.
 * @param body what besides method and address tells this request from another
 * @throws ServiceError INVALID_PARAMETERS for a key that is none, IDEMPOTENCY_CONFLICT when it came with another request
 * before, IDEMPOTENCY_IN_PROGRESS when that request has not been answered yet
 */
export async function answerOnce(
  ctx: RequestContext,
  keys: IdempotencyKeys,
  body: string | Uint8Array,
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
  const fingerprint = createHash('sha256').update(`${ctx.method} ${ctx.url}\n`).update(body).digest('hex');
  const outcome = await keys.claim(scope, fingerprint);
  if (outcome.state === 'claimed') await carryOut(ctx, keys, outcome.claim, work);
  else if (outcome.state === 'answered') repeatAnswer(ctx, outcome.answer);
  else if (outcome.state === 'under way') throw requestUnderWay();
  else throw new ServiceError('IDEMPOTENCY_CONFLICT', 'This Idempotency-Key came with another request before.');
}

async function carryOut(
  ctx: RequestContext,
  keys: IdempotencyKeys,
  claim: IdempotencyClaim,
  work: () => Promise<unknown>,
): Promise<void> {
  let kept = false;
  let answered = false;
  ctx.state.keepAnswer = async (session) => {
    await keys.keep(claim, currentAnswer(ctx), session);
    kept = true;
  };
  try {
    await work();
    if (ctx.status >= 200 && ctx.status < 300) {
      if (!kept) await ctx.state.keepAnswer();
      answered = true;
    }
  } finally {
    // Takes away nothing that a transaction has kept; and should it fail, the lease runs out.
    if (!answered) await keys.release(claim).catch(() => undefined);
  }
}

function currentAnswer(ctx: RequestContext): KeptAnswer {
  const headers = KEPT_HEADERS.flatMap((name) => {
    const value = ctx.response.get(name);
    return value === '' ? [] : [[name, value]];
  });
  return { status: ctx.status, headers: Object.fromEntries(headers), body: JSON.stringify(ctx.body ?? null) };
}

function repeatAnswer(ctx: RequestContext, { status, headers, body }: KeptAnswer): void {
  ctx.status = status;
  ctx.body = body;
  ctx.set(headers);
  ctx.set('Idempotent-Replayed', 'true');
}
