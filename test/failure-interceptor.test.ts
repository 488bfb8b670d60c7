import { beforeEach, describe, expect, test } from '@jest/globals';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { asActivityFailure, createFailureInterceptor } from '../activities/failures.js';

describe('the failure of an activity', () => {
  const logged: object[] = [];
  beforeEach(() => void logged.splice(0));

  /** The failure as the history gets it. @param map how the activity maps the error */
  async function failureOf(error: Error, map = (unmapped: Error) => unmapped): Promise<ApplicationFailure> {
    const environment = new MockActivityEnvironment();
    const log = { warn: (line: object) => void logged.push(line) };
    const { inbound } = createFailureInterceptor(log as never)(environment.context);
    const run = inbound!.execute!;
    const failed = environment.run(() =>
      run({ args: [{ org: 'o', job: 'job-1' }], headers: {} }, () => Promise.reject(map(error))),
    );
    return failed.then(
      () => Promise.reject(new Error('did not fail')),
      (failure) => failure,
    );
  }

  test.each([
    ['describes', { code: 'JobFailed', message: 'No model.', retryable: false }, 'No model.'],
    ['does not know', undefined, 'An internal error: TypeError'],
  ])('has only what clients may read; the error that the activity %s is logged', async (_, described, message) => {
    const secret = new TypeError('key=secret');
    const failure = await failureOf(secret, (error) => asActivityFailure(error, { describe: () => described }));
    expect(failure).toMatchObject({ message, cause: undefined });
    expect(failure.stack).not.toContain('secret');
    expect(logged).toEqual([expect.objectContaining({ err: secret, job: 'job-1' })]);
  });

  test('keeps a valid delay of the next attempt', async () => {
    const failure = ApplicationFailure.create({ message: 'Later.', type: 'Busy', nextRetryDelay: 5_000 });
    expect(await failureOf(failure)).toMatchObject({ message: 'Later.', type: 'Busy', nextRetryDelay: 5_000 });
  });

  // The same holds for half a character, in the message or in the stack, which repeats it.
  test('has texts that can be encoded, and not too long', async () => {
    const failure = await failureOf(
      ApplicationFailure.create({ message: `quota \ud83d ${'x'.repeat(10_000)}`, type: 'Busy' }),
    );
    expect(failure.message).toMatch(/^quota \ufffd x+$/);
    expect(failure.message.length).toBeLessThanOrEqual(2_000);
    expect(failure.stack!.isWellFormed()).toBe(true);
  });

  // The SDK cannot encode them, and a worker that cannot report a failure ends.
  test.each([Number.NaN, Number.POSITIVE_INFINITY, -1, 1e300])('has no delay of %p', async (nextRetryDelay) => {
    const failure = ApplicationFailure.create({ message: 'Later.', type: 'Busy', nextRetryDelay });
    expect(await failureOf(failure)).toMatchObject({ message: 'Later.', type: 'Busy', nextRetryDelay: undefined });
  });
});
