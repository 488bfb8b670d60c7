/** When a failed delivery is retried, and when it fails permanently. Pure: the time and a random number are parameters. */

export interface DeliveryPolicy {
  /** Milliseconds to wait after the 1st, 2nd, … failed attempt. When all have been used, the next failure is final. */
  scheduleMs: readonly number[];
  /** Timeout of an attempt, in milliseconds. */
  timeoutMs: number;
  /** Longest wait in milliseconds, also for a receiver's `Retry-After`, which otherwise replaces the scheduled wait. */
  maxDelayMs: number;
  /** @returns why a response with this status is final, or null when the delivery is retried */
  finalReason(status: number): string | null;
}

const SECOND = 1_000;
/** `Retry-After: 0` must not make the attempts follow each other without a pause. */
const MIN_RETRY_AFTER_MS = SECOND;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
export const DAY_MS = 24 * HOUR;

/** Webhooks of indexing and of payments, and callbacks of crews: at once, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h, about 28 hours in total. */
export const INDEXING_DELIVERY_POLICY: DeliveryPolicy = {
  scheduleMs: [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR],
  timeoutMs: 15 * SECOND,
  maxDelayMs: DAY_MS,
  finalReason: (status) =>
    status === 410 ? 'The receiver responded with status 410, so no more attempts are made.' : null,
};

/** Callbacks of AI jobs: at once, then up to three retries within about 40 seconds. */
export const CALLBACK_DELIVERY_POLICY: DeliveryPolicy = {
  scheduleMs: [2 * SECOND, 8 * SECOND, 30 * SECOND],
  timeoutMs: 30 * SECOND,
  maxDelayMs: 30 * SECOND,
  finalReason: (status) => (status < 500 ? `The receiver responded with status ${status}, which is final.` : null),
};

/** A policy with a schedule of the operator's choice, whose waits are not cut. */
export function withSchedule(policy: DeliveryPolicy, scheduleMs: readonly number[]): DeliveryPolicy {
  const longest = Math.max(...scheduleMs);
  // A schedule within the limit stays within it, also where the random change would make a wait longer.
  const maxDelayMs = longest > policy.maxDelayMs ? Math.ceil(longest * 1.1) : policy.maxDelayMs;
  return { ...policy, scheduleMs, maxDelayMs };
}

/** The receiver's response, or the reason why there is no response. */
export type AttemptResult = { status: number; retryAfter?: string | undefined } | { error: string };

/** The next state of the delivery. */
export type AttemptVerdict =
  | { state: 'delivered' }
  | { state: 'failed'; delayMs: number; reason: string }
  | { state: 'permanently_failed'; reason: string };

/** Where a delivery is in its retry schedule, before an attempt. */
export interface SchedulePosition {
  /** Failed automatic attempts since the schedule was started. */
  failures: number;
  /** For a manual retry beside the schedule: when the next automatic attempt was due. */
  automaticAttemptAt?: Date | null | undefined;
}

/**
 * Decides the next state of a delivery after an attempt. A manual retry that fails leaves the schedule as it was.
 * @param random from 0 to 1; changes the wait by up to ±10 %, so that deliveries do not retry at the same time
 */
export function judgeAttempt(
  policy: DeliveryPolicy,
  result: AttemptResult,
  { failures, automaticAttemptAt }: SchedulePosition,
  now: Date,
  random: number,
): AttemptVerdict {
  if ('status' in result && result.status >= 200 && result.status < 300) return { state: 'delivered' };
  const reason = 'status' in result ? `The receiver responded with status ${result.status}.` : result.error;
  const final = 'status' in result ? policy.finalReason(result.status) : null;
  if (final !== null) return { state: 'permanently_failed', reason: final };
  const scheduled = policy.scheduleMs[automaticAttemptAt ? failures - 1 : failures];
  if (scheduled === undefined) return { state: 'permanently_failed', reason };
  const remainingMs = automaticAttemptAt ? automaticAttemptAt.getTime() - now.getTime() : 0;
  const waitMs = remainingMs > 0 ? remainingMs : Math.round(scheduled * (0.9 + 0.2 * random));
  return { state: 'failed', delayMs: Math.min(retryAfterMs(result, now) ?? waitMs, policy.maxDelayMs), reason };
}

/** @returns the wait that an overloaded receiver requests (RFC 6585, 4; RFC 9110, 15.6.4), or null */
function retryAfterMs(result: AttemptResult, now: Date): number | null {
  if (!('status' in result) || (result.status !== 429 && result.status !== 503)) return null;
  const ms = result.retryAfter === undefined ? null : parseRetryAfter(result.retryAfter, now);
  return ms === null ? null : Math.max(ms, MIN_RETRY_AFTER_MS);
}

/** The only form of a date that senders may use (RFC 9110, 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** @returns milliseconds from now, or null when the header is neither seconds nor a date (RFC 9110, 10.2.3) */
export function parseRetryAfter(value: string, now: Date): number | null {
  const trimmed = value.trim();
  if (/^\d{1,10}$/.test(trimmed)) return Number(trimmed) * SECOND;
  const date = HTTP_DATE.test(trimmed) ? Date.parse(trimmed) : Number.NaN;
  // The form allows days and months that do not exist.
  return Number.isNaN(date) ? null : Math.max(0, date - now.getTime());
}
