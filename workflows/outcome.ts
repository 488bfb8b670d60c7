import { patched, upsertSearchAttributes } from '@temporalio/workflow';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes.js';

/**
 * Lets operators find work that ended badly: to Temporal it has completed like any other. What ended well is not
 * marked, it would be an event more for most workflows.
 */
export function showOutcome(outcome: 'errored' | 'fail' | 'error' | 'failed' | 'permanently_failed'): void {
  if (patched('outcome')) upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.outcome, value: outcome }]);
}
