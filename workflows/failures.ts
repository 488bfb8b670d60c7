import { ActivityFailure, ApplicationFailure, upsertSearchAttributes } from '@temporalio/workflow';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes.js';
import { FOR_CLIENT } from '../domain/workflow-contract.js';

/** @returns the code and message that a failed activity gave for the client; null for any other error */
export function clientFailureOf(error: unknown): { code: string; message: string } | null {
  const cause = causeOf(error);
  if (!cause?.type || cause.details?.[0] !== FOR_CLIENT) return null;
  return { code: cause.type, message: cause.message };
}

/** Whether an activity failed with this type. */
export function hasFailureType(error: unknown, type: string): boolean {
  return causeOf(error)?.type === type;
}

/**
 * Marks work that failed, so that operators can search for it: to Temporal its workflow has completed like any other.
 * Success is not marked, because that would add an event to most histories.
 */
export function showOutcome(outcome: 'errored' | 'fail' | 'error' | 'failed' | 'permanently_failed'): void {
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.outcome, value: outcome }]);
}

function causeOf(error: unknown): ApplicationFailure | null {
  return error instanceof ActivityFailure && error.cause instanceof ApplicationFailure ? error.cause : null;
}
