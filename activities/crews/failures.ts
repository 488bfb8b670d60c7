import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { Logger } from 'pino';
import { CREW_FAILED } from '../../domain/crews/workflow-contract.js';
import { ProviderError } from '../../domain/errors.js';

/** After this many tries a model's passing error is taken for a lasting one. */
const MAX_PROVIDER_TRIES = 5;

/** Of this activity, counted from 1. */
export const attemptNumber = (): number => Context.current().info.attempt;

/** Wraps activities so that any error becomes the failure that the workflow understands; nothing else reaches a history. */
export function crewFailures(log: Logger) {
  return <Args extends [{ execution: string }, ...unknown[]] | [{ execution: string }], Result>(
    activity: (...args: Args) => Promise<Result>,
  ) =>
    async (...args: Args): Promise<Result> => {
      try {
        return await activity(...args);
      } catch (error) {
        throw asCrewFailure(error, args[0].execution, log);
      }
    };
}

function asCrewFailure(error: unknown, execution: string, log: Logger): Error {
  const context = Context.current();
  if (error instanceof CancelledFailure || context.cancellationSignal.aborted) return error as Error;
  const { attempt, activityType } = context.info;
  log.warn({ err: error, execution, activity: activityType, attempt }, 'crew activity failed');
  if (error instanceof ApplicationFailure) return error;
  if (error instanceof ProviderError) {
    return ApplicationFailure.create({
      type: CREW_FAILED,
      message: error.message,
      // The crew's input or the model is at fault; that is not this worker's failure to count.
      category: ApplicationFailureCategory.BENIGN,
      nonRetryable: !error.retryable || attempt >= MAX_PROVIDER_TRIES,
      nextRetryDelay: error.retryAfterMs,
    });
  }
  return ApplicationFailure.create({ type: 'InternalError', message: `An internal error: ${(error as Error).name}` });
}
