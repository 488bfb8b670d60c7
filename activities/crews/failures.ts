import { Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import { CREW_FAILED } from '../../domain/crews/workflow-contract.js';
import { ProviderError } from '../../domain/errors.js';
import { asActivityFailure, attemptNumber, type ClientError } from '../failures.js';

/** After this many attempts a model's transient error is final. */
const MAX_PROVIDER_ATTEMPTS = 5;

/** Wraps activities: maps their errors to failures that the workflow understands. */
export function crewFailures(log: Pick<Logger, 'warn'>) {
  return <Args extends [{ execution: string }, ...unknown[]] | [{ execution: string }], Result>(
    activity: (...args: Args) => Promise<Result>,
  ) =>
    async (...args: Args): Promise<Result> => {
      try {
        return await activity(...args);
      } catch (error) {
        const { attempt, activityType } = Context.current().info;
        const { execution } = args[0];
        log.warn({ err: error, execution, activity: activityType, attempt }, 'crew activity failed');
        throw asActivityFailure(error, { describe: describeModelError });
      }
    };
}

function describeModelError(error: unknown): ClientError | undefined {
  if (!(error instanceof ProviderError)) return undefined;
  const { message, retryable, retryAfterMs } = error;
  const worthRetrying = retryable && attemptNumber() < MAX_PROVIDER_ATTEMPTS;
  return { code: CREW_FAILED, message, retryable: worthRetrying, retryAfterMs, benign: true };
}
