import { patched, upsertSearchAttributes } from '@temporalio/workflow';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes.js';

/**
 * Marks work that failed, so that operators can search for it: to Temporal its workflow has completed like any other.
 * Success is not marked, because that would add an event to most histories.
 */
export function showOutcome(outcome: 'errored' | 'fail' | 'error' | 'failed' | 'permanently_failed'): void {
  if (patched('outcome')) upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.outcome, value: outcome }]);
}
