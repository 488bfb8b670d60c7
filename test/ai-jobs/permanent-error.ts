import { expect } from '@jest/globals';

/** An error of a provider after which the job is not retried. */
export const permanentError = (message: RegExp) => ({
  name: 'ProviderError',
  retryable: false,
  message: expect.stringMatching(message),
});
