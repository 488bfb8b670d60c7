import { CancelledFailure, CompleteAsyncError, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { isAbortError } from '@temporalio/common/lib/type-helpers.js';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Logger } from 'pino';
import { DAY_MS } from '../domain/webhooks/delivery-policy.js';
import { internalFailure } from './failures.js';

/**
 * Keeps the text of foreign errors out of the workflows' histories: it can contain documents, addresses and credentials.
 * An error that an activity did not map itself is logged, and the history gets only its class.
 */
export function createFailureInterceptor(log: Pick<Logger, 'warn'>): ActivityInterceptorsFactory {
  return () => ({
    inbound: {
      async execute(input, next) {
        try {
          return await next(input);
        } catch (error) {
          throw forHistory(error, log);
        }
      },
    },
  });
}

function forHistory(error: unknown, log: Pick<Logger, 'warn'>): unknown {
  if (error instanceof CompleteAsyncError || error instanceof CancelledFailure) return error;
  const { cancellationSignal, info } = Context.current();
  if (isAbortError(error) && cancellationSignal.aborted) return new CancelledFailure('cancelled');
  if (error instanceof ApplicationFailure && error.cause === undefined && hasValidDelay(error)) return error;
  const { activityType: activity, attempt, workflowExecution } = info;
  log.warn({ err: error, activity, attempt, workflow: workflowExecution?.workflowId }, 'activity failed');
  return error instanceof ApplicationFailure ? withoutCause(error) : internalFailure(error);
}

/** Far longer than any schedule. */
const MAX_DELAY_MS = 366 * DAY_MS;

/**
 * A delay that the SDK cannot encode would end the worker process. It comes from other servers in part, so it is checked
 * here for all activities.
 */
function hasValidDelay({ nextRetryDelay: delay }: ApplicationFailure): boolean {
  return typeof delay !== 'number' || (delay >= 0 && delay <= MAX_DELAY_MS);
}

function withoutCause(error: ApplicationFailure): Error {
  const { message, type, nonRetryable, details, nextRetryDelay, category } = error;
  const delay = hasValidDelay(error) ? nextRetryDelay : undefined;
  return new ApplicationFailure(message, type, nonRetryable, details, undefined, delay, category);
}
