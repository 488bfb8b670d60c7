import type { Client } from '@temporalio/client';
import { createJobStarters } from './ai-jobs/starters.js';
import { createConnectorStarters } from './connectors/starters.js';
import { createContentStarters } from './content/starters.js';
import { createCrewStarters } from './crews/starters.js';
import { createDeliveryStarters } from './webhooks/starters.js';
import { createWorkflowStarter } from './workflow-starter.js';

export type Starters = ReturnType<typeof createStarters>;

/**
 * The workflow starters of all services. A route or an activity receives only those that it uses.
 * @param deadlineMs for each call; without a deadline the client retries for as long as its own policy says
 */
export function createStarters(client: Client, deadlineMs?: number) {
  const starter = createWorkflowStarter(client, deadlineMs);
  return {
    ...createContentStarters(starter),
    ...createDeliveryStarters(starter),
    ...createJobStarters(starter),
    ...createCrewStarters(starter),
    ...createConnectorStarters(starter),
  };
}
