import { describe, expect, test } from '@jest/globals';
import {
  type AttemptResult,
  CALLBACK_DELIVERY_POLICY,
  INDEXING_DELIVERY_POLICY,
  judgeAttempt,
  parseRetryAfter,
  withSchedule,
} from '../../domain/webhooks/delivery-policy.js';

const NOW = new Date('2026-03-01T12:00:00Z');
const HOUR = 3_600_000;

describe('Retry-After', () => {
  test.each<[string, number | null]>([
    ['120', 120_000],
    [' 7 ', 7_000],
    ['Sun, 01 Mar 2026 12:01:00 GMT', 60_000],
    ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
    ['-1', null],
    ['2.5', null],
    ['1, 2', null],
    ['soon 3', null],
    ['2026-03-01', null],
    ['Sun, 32 Mar 2026 12:01:00 GMT', null],
    ['Sun, 01 Xxx 2026 12:01:00 GMT', null],
    ['9999999999', 9_999_999_999_000],
    ['', null],
  ])('%j', (value, ms) => {
    expect(parseRetryAfter(value, NOW)).toBe(ms);
  });

  const judge = (retryAfter: string, failures = 0) =>
    judgeAttempt(INDEXING_DELIVERY_POLICY, { status: 429, retryAfter }, { failures }, NOW, 0.5);

  test.each<[string, number]>([
    ['7', 7_000],
    ['7200', 2 * HOUR],
    ['9999999', 24 * HOUR],
    // Attempts do not follow each other without a pause.
    ['0', 1_000],
    ['Sun, 01 Mar 2026 11:00:00 GMT', 1_000],
  ])('%j replaces every wait of the schedule', (retryAfter, delayMs) => {
    for (const failures of INDEXING_DELIVERY_POLICY.scheduleMs.keys()) {
      expect(judge(retryAfter, failures)).toMatchObject({ state: 'failed', delayMs });
    }
  });

  test('that cannot be read leaves the schedule as it is', () => {
    expect(judge('nonsense', 1)).toMatchObject({ delayMs: 5 * 60_000 });
  });

  test('of another response than 429 and 503 is not obeyed', () => {
    const result = { status: 500, retryAfter: '7200' };
    expect(judgeAttempt(INDEXING_DELIVERY_POLICY, result, { failures: 0 }, NOW, 0.5)).toMatchObject({ delayMs: 5_000 });
  });
});

describe('a manual retry that fails', () => {
  const judge = (automaticAttemptAt: Date, result: AttemptResult = { status: 500 }) =>
    judgeAttempt(INDEXING_DELIVERY_POLICY, result, { failures: 3, automaticAttemptAt }, NOW, 0.5);

  test('leaves the next automatic attempt where it was', () => {
    expect(judge(new Date(NOW.getTime() + 90_000))).toMatchObject({ state: 'failed', delayMs: 90_000 });
  });
  test('repeats the wait when the next automatic attempt was due in the same moment', () => {
    expect(judge(NOW)).toMatchObject({ state: 'failed', delayMs: INDEXING_DELIVERY_POLICY.scheduleMs[2] });
  });
  test('obeys Retry-After', () => {
    const result = { status: 503, retryAfter: '7' };
    expect(judge(new Date(NOW.getTime() + 90_000), result)).toMatchObject({ state: 'failed', delayMs: 7_000 });
  });
  test('is final where every attempt is', () => {
    expect(judge(new Date(NOW.getTime() + 90_000), { status: 410 })).toMatchObject({ state: 'permanently_failed' });
  });
});

test('no wait of a job callback exceeds 30 seconds, whatever the random number', () => {
  // As the worker makes it, from the setting's default.
  const policy = withSchedule(CALLBACK_DELIVERY_POLICY, CALLBACK_DELIVERY_POLICY.scheduleMs);
  for (const random of [0, 0.5, 1]) {
    for (const failures of [0, 1, 2]) {
      const verdict = judgeAttempt(policy, { error: 'connection reset' }, { failures }, NOW, random);
      expect(verdict).toMatchObject({ state: 'failed' });
      expect('delayMs' in verdict && verdict.delayMs).toBeLessThanOrEqual(30_000);
    }
  }
});

test.each([
  ['callbacks of jobs', CALLBACK_DELIVERY_POLICY, HOUR],
  ['webhooks', INDEXING_DELIVERY_POLICY, 48 * HOUR],
])('a longer schedule of %s is not cut', (_name, own, longest) => {
  const policy = withSchedule(own, [2_000, longest]);
  const verdict = judgeAttempt(policy, { error: 'connection reset' }, { failures: 1 }, NOW, 1);
  expect(verdict).toMatchObject({ state: 'failed', delayMs: Math.round(1.1 * longest) });
});
