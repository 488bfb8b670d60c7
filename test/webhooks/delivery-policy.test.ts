import { describe, expect, test } from '@jest/globals';
import {
  CALLBACK_DELIVERY_POLICY,
  INDEXING_DELIVERY_POLICY,
  judgeAttempt,
  parseRetryAfter,
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
    ['', null],
  ])('%j', (value, ms) => {
    expect(parseRetryAfter(value, NOW)).toBe(ms);
  });

  test.each(['0', '1', 'Sun, 01 Mar 2026 11:00:00 GMT', 'nonsense'])(
    '%j does not shorten the schedule',
    (retryAfter) => {
      const waits = INDEXING_DELIVERY_POLICY.scheduleMs.map((_wait, failures) =>
        judgeAttempt(INDEXING_DELIVERY_POLICY, { status: 429, retryAfter }, failures, NOW, 0.5),
      );
      expect(waits.map((verdict) => 'delayMs' in verdict && verdict.delayMs)).toEqual(
        INDEXING_DELIVERY_POLICY.scheduleMs,
      );
    },
  );

  test('makes a wait longer, up to a day', () => {
    const judge = (retryAfter: string) =>
      judgeAttempt(INDEXING_DELIVERY_POLICY, { status: 503, retryAfter }, 0, NOW, 0.5);
    expect(judge('7200')).toMatchObject({ state: 'failed', delayMs: 2 * HOUR });
    expect(judge('9999999')).toMatchObject({ state: 'failed', delayMs: 24 * HOUR });
  });
});

test('no wait of a job callback exceeds 30 seconds, whatever the random number', () => {
  for (const random of [0, 0.5, 1]) {
    for (const failures of [0, 1, 2]) {
      const verdict = judgeAttempt(CALLBACK_DELIVERY_POLICY, { error: 'connection reset' }, failures, NOW, random);
      expect(verdict).toMatchObject({ state: 'failed' });
      expect('delayMs' in verdict && verdict.delayMs).toBeLessThanOrEqual(30_000);
    }
  }
});
