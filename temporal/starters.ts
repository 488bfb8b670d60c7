import type { Client } from '@temporalio/client';
import type { StarterMetrics } from '../domain/metrics.js';
import { createJobStarters } from './ai-jobs/starters.js';
import { createConnectorStarters } from './connectors/starters.js';
import { createContentStarters } from './content/starters.js';
import { createCrewStarters } from './crews/starters.js';
import { createPaymentStarters } from './payments/starters.js';
import { createDeliveryStarters } from './webhooks/starters.js';
import { createWorkflowStarter } from './workflow-starter.js';

export type Starters = ReturnType<typeof createStarters>;

/**
 * The workflow starters of all services. A route or an activity receives only those that it uses.
 * @param deadlineMs for each call; without a deadline the client retries for as long as its own policy says
 * @param metrics measure the calls
 */
export function createStarters(client: Client, deadlineMs?: number, metrics?: StarterMetrics) {
  const starter = createWorkflowStarter(client, deadlineMs, metrics);
  return {
    ...createContentStarters(starter),
    ...createDeliveryStarters(starter),
    ...createJobStarters(starter),
    ...createCrewStarters(starter),
    ...createConnectorStarters(starter),
    ...createPaymentStarters(starter),
  };
}
