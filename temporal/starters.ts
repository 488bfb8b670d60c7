import type { Client } from '@temporalio/client';
import { createJobStarters } from './ai-jobs/starters.js';
import { createConnectorStarters } from './connectors/starters.js';
import { createContentStarters } from './content/starters.js';
import { createCrewStarters } from './crews/starters.js';
import { createPaymentStarters } from './payments/starters.js';
import { createDeliveryStarters } from './webhooks/starters.js';
import { createWorkflowStarter, type WorkflowStarterOptions } from './workflow-starter.js';

export type Starters = ReturnType<typeof createStarters>;

/** The workflow starters of all services. A route or an activity receives only those that it uses. */
export function createStarters(client: Client, options: WorkflowStarterOptions = {}) {
  const starter = createWorkflowStarter(client, options);
  return {
    ...createContentStarters(starter),
    ...createDeliveryStarters(starter),
    ...createJobStarters(starter),
    ...createCrewStarters(starter),
    ...createConnectorStarters(starter),
    ...createPaymentStarters(starter),
  };
}
