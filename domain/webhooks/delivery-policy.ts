/** When a delivery is tried again and when it is given up. Pure; the clock and the chance are passed in. */

export interface DeliveryPolicy {
  /** Milliseconds to wait after the 1st, 2nd, … failed attempt; one more failure than entries is final. */
  scheduleMs: readonly number[];
  /** Milliseconds a receiver has for its answer. */
  timeoutMs: number;
  /** Milliseconds of the longest wait; a receiver's `Retry-After` is obeyed up to it. */
  maxDelayMs: number;
  /** Why an answer with this status ends the delivery at once; null when another attempt may help. */
  finalReason(status: number): string | null;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
export const DAY_MS = 24 * HOUR;

/** Indexing webhooks: at once, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h: about a day and a quarter in all. */
export const INDEXING_DELIVERY_POLICY: DeliveryPolicy = {
  scheduleMs: [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR],
  timeoutMs: 15 * SECOND,
  maxDelayMs: DAY_MS,
  finalReason: (status) => (status === 410 ? 'The receiver answered 410: it does not want this any more.' : null),
};

/** Callbacks of AI jobs and crews: at once, then up to three retries, within about 40 seconds. */
export const CALLBACK_DELIVERY_POLICY: DeliveryPolicy = {
  scheduleMs: [2 * SECOND, 8 * SECOND, 30 * SECOND],
  timeoutMs: 30 * SECOND,
  maxDelayMs: 30 * SECOND,
  finalReason: (status) => (status < 500 ? `The receiver answered ${status}, which is final.` : null),
};

/** What came of one request to a receiver: an answer, or the reason there was none. */
export type AttemptResult = { status: number; retryAfter?: string | undefined } | { error: string };

export type AttemptVerdict =
  | { state: 'delivered' }
  | { state: 'failed'; delayMs: number; reason: string }
  | { state: 'permanently_failed'; reason: string };

/**
 * Judges one attempt.
 * @param failuresBefore failed attempts of this run so far, this one not counted
 * @param random 0 to 1, spreads the wait by ±10 % so that receivers are not hit in step
 */
export function judgeAttempt(
  policy: DeliveryPolicy,
  result: AttemptResult,
  failuresBefore: number,
  now: Date,
  random: number,
): AttemptVerdict {
  if ('status' in result && result.status >= 200 && result.status < 300) return { state: 'delivered' };
  const reason = 'status' in result ? `The receiver answered ${result.status}.` : result.error;
  const final = 'status' in result ? policy.finalReason(result.status) : null;
  if (final !== null) return { state: 'permanently_failed', reason: final };
  const scheduled = policy.scheduleMs[failuresBefore];
  if (scheduled === undefined) return { state: 'permanently_failed', reason };
  const asked = 'status' in result && (result.status === 429 || result.status === 503) ? result.retryAfter : undefined;
  const askedMs = asked === undefined ? null : parseRetryAfter(asked, now);
  // A receiver may ask for more patience than planned, not for less: eight attempts within seconds would help nobody.
  const delayMs = Math.max(Math.round(scheduled * (0.9 + 0.2 * random)), askedMs ?? 0);
  return { state: 'failed', delayMs: Math.min(delayMs, policy.maxDelayMs), reason };
}

/** The one form that senders may use (RFC 9110, 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** @returns milliseconds from now, or null when the header is neither seconds nor a date (RFC 9110, 10.2.3) */
export function parseRetryAfter(value: string, now: Date): number | null {
  const trimmed = value.trim();
  if (/^\d{1,10}$/.test(trimmed)) return Number(trimmed) * SECOND;
  if (!HTTP_DATE.test(trimmed)) return null;
  return Math.max(0, Date.parse(trimmed) - now.getTime());
}
