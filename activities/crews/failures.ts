import { CREW_FAILED } from '../../domain/crews/workflow-contract.js';
import { ProviderError } from '../../domain/errors.js';
import { asActivityFailure, attemptNumber, type ClientError } from '../failures.js';

/** After this many attempts a model's transient error is final. */
const MAX_PROVIDER_ATTEMPTS = 5;

/** As the retry policy of the workflow begins. */
const FIRST_PAUSE_MS = 2_000;

/** Wraps an activity: maps its errors to failures that the workflow understands. */
export function withFailures<Args extends unknown[], Result>(activity: (...args: Args) => Promise<Result>) {
  return (...args: Args): Promise<Result> =>
    activity(...args).catch((error: unknown) => {
      throw asActivityFailure(error, { describe: describeModelError });
    });
}

function describeModelError(error: unknown): ClientError | undefined {
  if (!(error instanceof ProviderError)) return undefined;
  const { message, retryable, retryAfterMs } = error;
  const worthRetrying = retryable && attemptNumber() < MAX_PROVIDER_ATTEMPTS;
  // A busy server tells everybody to come back in a second: without growing pauses, all attempts would be over in four.
  const pauseMs = retryAfterMs && Math.max(retryAfterMs, FIRST_PAUSE_MS * 2 ** (attemptNumber() - 1));
  return { code: CREW_FAILED, message, retryable: worthRetrying, retryAfterMs: pauseMs, benign: true };
}
