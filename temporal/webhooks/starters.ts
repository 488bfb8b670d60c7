import { type DeliveryRef, RETRY_NOW } from '../../domain/webhooks/workflow-contract.js';
import { workflowIds } from '../workflow-ids.js';
import { ownedBy, type StartOptions, type WorkflowStarter } from '../workflow-starter.js';

/** The fields of a delivery that starting its workflow needs; a subset of `DeliveryRecord`. */
export interface StartDeliveryInput {
  _id: string;
  org: string;
  doc_id: string;
  event_type: string;
  receiver?: string | null;
  /** Has the database of the item. */
  payload: { database: string } | null;
}

export type DeliveryStarters = ReturnType<typeof createDeliveryStarters>;

/** Starts and wakes the workflows of deliveries. */
export function createDeliveryStarters({ start, signalWithStart }: WorkflowStarter) {
  return {
    startDelivery: (delivery: StartDeliveryInput): Promise<void> => start('deliverWebhook', optionsOf(delivery)),

    /** Signals the delivery's workflow to retry now; starts a new run when the last run has ended. */
    retryDelivery: (delivery: StartDeliveryInput): Promise<void> =>
      signalWithStart('deliverWebhook', RETRY_NOW, optionsOf(delivery)),
  };
}

function optionsOf({
  _id,
  org,
  doc_id,
  event_type,
  receiver,
  payload,
}: StartDeliveryInput): StartOptions<'deliverWebhook'> {
  const ref: DeliveryRef = { delivery: _id, org, ...(receiver ? { receiver } : {}) };
  return {
    workflowId: workflowIds.delivery(_id),
    // A requeued delivery needs a new run. For a finished delivery, a new run does nothing.
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    taskQueue: 'deliveries',
    args: [ref],
    staticSummary: `${event_type} of ${doc_id}${payload === null ? '' : ` in ${payload.database}`}`,
    ...ownedBy({ org, source: doc_id, database: payload?.database }),
  };
}
