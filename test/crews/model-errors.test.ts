import { describe, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { withFailures } from '../../activities/crews/failures.js';
import { ProviderError } from '../../domain/errors.js';

describe('pauses after transient errors of a model', () => {
  /** Milliseconds until the next attempt; undefined where the workflow's retry policy decides. */
  async function pauseAfter(attempt: number, retryAfterMs?: number): Promise<number | undefined> {
    const activity = withFailures(async () => {
      throw new ProviderError('The AI server has too many requests.', true, retryAfterMs);
    });
    const failure = await new MockActivityEnvironment({ attempt }).run(activity).catch((error: unknown) => error);
    expect(failure).toMatchObject({ nonRetryable: false });
    return Number((failure as { nextRetryDelay?: number }).nextRetryDelay ?? Number.NaN) || undefined;
  }

  test.each([
    ['a second', 1_000, [2_000, 4_000, 8_000, 16_000]],
    ['five seconds', 5_000, [5_000, 5_000, 8_000, 16_000]],
    ['a minute', 60_000, [60_000, 60_000, 60_000, 60_000]],
  ])('grow when the server asks for %s, and are never shorter than that', async (_what, retryAfterMs, pauses) => {
    const attempts = pauses.map((_pause, index) => pauseAfter(index + 1, retryAfterMs));
    expect(await Promise.all(attempts)).toEqual(pauses);
  });

  test('are those of the workflow when the server names none', async () => {
    expect(await pauseAfter(3)).toBeUndefined();
  });
});
