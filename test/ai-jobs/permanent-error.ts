import { expect } from '@jest/globals';

/** Expects a provider to fail with an error after which the job is not retried. */
export const failsForGood = (run: Promise<unknown>, message: RegExp) =>
  expect(run).rejects.toMatchObject({
    name: 'ProviderError',
    retryable: false,
    message: expect.stringMatching(message),
  });
