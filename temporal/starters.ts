import type { Client } from '@temporalio/client';
import type { StarterMetrics } from '../domain/metrics.js';
import type { LaneFlags } from '../domain/webhooks/lanes.js';
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
 * @param laneFlags say which lanes of deliveries run; without them every delivery in a lane sends a signal
 */
export function createStarters(client: Client, deadlineMs?: number, laneFlags?: LaneFlags, metrics?: StarterMetrics) {
  const starter = createWorkflowStarter(client, deadlineMs, metrics);
  return {
    ...createContentStarters(starter),
    ...createDeliveryStarters(starter, laneFlags),
    ...createJobStarters(starter),
    ...createCrewStarters(starter),
    ...createConnectorStarters(starter),
    ...createPaymentStarters(starter),
  };
}
