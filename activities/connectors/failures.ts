import { ApplicationFailure } from '@temporalio/activity';
import { SourceError } from '../../domain/connectors/connectors.js';
import { SYNC_ENDED } from '../../domain/connectors/workflow-contract.js';
import { ServiceError } from '../../domain/errors.js';
import { asActivityFailure, type ClientError } from '../failures.js';
import { withHeartbeat } from '../heartbeat.js';

/** Runs a step of a sync with heartbeats; its failures carry the code that the client reads. */
export async function syncStep<T>(step: (signal: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await withHeartbeat(step);
  } catch (error) {
    throw asActivityFailure(error, { describe: describeSourceError });
  }
}

/** Ends the work of a sync whose connector was deleted, or that has ended. */
export function syncEnded(): ApplicationFailure {
  return ApplicationFailure.nonRetryable('The connector was deleted, or this sync has ended.', SYNC_ENDED);
}

function describeSourceError(error: unknown): ClientError | undefined {
  if (error instanceof ServiceError && error.details?.quota !== undefined) return new SourceError('QUOTA_EXCEEDED');
  return error instanceof SourceError ? error : undefined;
}
