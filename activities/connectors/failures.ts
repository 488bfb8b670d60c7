import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import { SourceError } from '../../domain/connectors/connectors.js';
import { SYNC_ENDED } from '../../domain/connectors/workflow-contract.js';
import { ServiceError } from '../../domain/errors.js';
import { asActivityFailure, type ClientError } from '../failures.js';
import { withHeartbeat } from '../heartbeat.js';

/** @returns a function that runs a step of a sync with heartbeats; its failures carry the code that the client reads */
export function syncSteps(log: Pick<Logger, 'warn'>) {
  return async <T>(step: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    try {
      return await withHeartbeat(step);
    } catch (error) {
      const { activityType: activity, workflowExecution } = Context.current().info;
      log.warn({ err: error, activity, workflow: workflowExecution?.workflowId }, 'sync activity failed');
      throw asActivityFailure(error, { describe: describeSourceError });
    }
  };
}

/** Ends the work of a sync whose connector was deleted, or that has ended. */
export function syncEnded(): ApplicationFailure {
  return ApplicationFailure.nonRetryable('The connector was deleted, or this sync has ended.', SYNC_ENDED);
}

function describeSourceError(error: unknown): ClientError | undefined {
  if (error instanceof ServiceError && error.details?.quota !== undefined) return new SourceError('QUOTA_EXCEEDED');
  return error instanceof SourceError ? error : undefined;
}
