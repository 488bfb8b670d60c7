import { MongoError } from 'mongodb';
import type { Logger } from 'pino';
import type { OutboundClient } from '../../domain/outbound.js';
import { type AttemptResult, judgeAttempt } from '../../domain/webhooks/delivery-policy.js';
import type { AttemptEntry, DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { RecordedAttempt } from '../../storage/webhooks/outcome-updates.js';
import { inDeliverySpan } from './attempt-span.js';
import type { Callback, CallbackRequest, Undeliverable } from './callback.js';

export interface AttemptDependencies {
  outbound: Pick<OutboundClient, 'send'>;
  log: Pick<Logger, 'error' | 'info' | 'warn'>;
  /** 0 to 1; spreads retries. */
  random: () => number;
  /** The clock for due dates. Tests that skip time pass Temporal's own time. */
  now: () => Date | Promise<Date>;
}

/** Bytes of the receiver's response that are stored. */
const MAX_RESPONSE_BYTES = 1024;

/** The process stops: the outcome of the attempt will not be known, and the next claimant repeats it. */
export class AttemptCancelled extends Error {
  override name = 'AttemptCancelled';
}

/** Nothing was sent, and the delivery is due again at once: MongoDB failed, or the claim would not outlive the attempt. */
export class AttemptNotSent extends Error {
  override name = 'AttemptNotSent';
}

/** What an attempt has led to. */
export interface Attempt {
  recorded: RecordedAttempt;
  /** Absent when no request was sent. */
  request?: CallbackRequest;
}

/** The receiver's response, or the error when there is none. */
interface Answer {
  result: AttemptResult;
  /** `HTTP_503`, or the code of the connection error. */
  code: string;
  logged: Pick<AttemptEntry, 'status_code' | 'error' | 'answer'>;
}

/** Makes one attempt at a claimed delivery. No request is sent when the callback cannot be built. */
export function createAttempt({ outbound, log, random, now }: AttemptDependencies) {
  return async (claimed: DeliveryRecord, callback: Callback): Promise<Attempt> => {
    const at = await now();
    const request = await prepare(claimed, callback);
    if ('error_code' in request) return { recorded: unsent(claimed, callback, request, at) };
    const { answer, duration_ms } = await sendInTime(claimed, callback, request).finally(() => request.release?.());
    const { verdict, next_attempt_at } = judge(claimed, callback, answer.result, await now());
    return {
      request,
      recorded: {
        status: verdict.state,
        sent: true,
        url: request.url,
        entry: { at, duration_ms, ...answer.logged },
        next_attempt_at,
        error_code: verdict.state === 'delivered' ? null : answer.code,
        error_message: verdict.state === 'delivered' ? null : verdict.reason,
      },
    };
  };

  async function sendInTime(claimed: DeliveryRecord, { policy: { timeoutMs } }: Callback, request: CallbackRequest) {
    if ((await now()).getTime() + timeoutMs > claimed.next_attempt_at!.getTime())
      throw new AttemptNotSent('the claim would not outlive the attempt');
    const started = performance.now();
    const answer = await inDeliverySpan(claimed, () => send(request, timeoutMs));
    return { answer, duration_ms: Math.round(performance.now() - started) };
  }

  function unsent(
    claimed: DeliveryRecord,
    callback: Callback,
    { error_code, error_message, retryable = false }: Undeliverable,
    at: Date,
  ): RecordedAttempt {
    const entry = { at, status_code: null, duration_ms: 0, error: error_message, answer: null };
    const recorded = { sent: false, url: claimed.url, entry, error_code, error_message };
    if (!retryable) return { ...recorded, status: 'permanently_failed', next_attempt_at: null };
    const { verdict, next_attempt_at } = judge(claimed, callback, { error: error_message }, at);
    return { ...recorded, status: verdict.state, next_attempt_at };
  }

  function judge(claimed: DeliveryRecord, { policy }: Callback, result: AttemptResult, at: Date) {
    const position = { failures: claimed.failures, automaticAttemptAt: claimed.automatic_attempt_at };
    const verdict = judgeAttempt(policy, result, position, at, random());
    const next_attempt_at = verdict.state === 'failed' ? new Date(at.getTime() + verdict.delayMs) : null;
    return { verdict, next_attempt_at };
  }

  /** A defect in a record or a key must not block the delivery in the state `sweeping`. A later release may fix it. */
  async function prepare(claimed: DeliveryRecord, callback: Callback): Promise<CallbackRequest | Undeliverable> {
    try {
      return await callback.prepare(claimed);
    } catch (error) {
      if (error instanceof AttemptNotSent) throw error;
      if (error instanceof MongoError) throw new AttemptNotSent('the request could not be built', { cause: error });
      log.error({ err: error }, 'delivery request could not be built');
      const error_message = 'The request could not be built because of an internal error.';
      return { error_code: 'INTERNAL_ERROR', error_message, retryable: true };
    }
  }

  async function send({ url, headers, body }: CallbackRequest, timeoutMs: number): Promise<Answer> {
    try {
      const limits = { timeoutMs, maxResponseBytes: MAX_RESPONSE_BYTES, excerpt: true };
      const response = await outbound.send({ method: 'POST', url, headers, body, ...limits });
      const { status } = response;
      return {
        result: { status, retryAfter: response.headers['retry-after'] },
        code: `HTTP_${status}`,
        logged: { status_code: status, error: null, answer: response.body.toString('utf8') },
      };
    } catch (error) {
      const { name, code, message } = error as Error & { code?: string };
      // This process is stopping, so the receiver is not to blame.
      if (code === 'ECANCELED') throw new AttemptCancelled();
      return {
        result: { error: message },
        code: code ?? name,
        logged: { status_code: null, error: message, answer: null },
      };
    }
  }
}
