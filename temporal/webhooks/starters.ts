import { type DeliveryRef, RETRY_NOW } from '../../domain/webhooks/workflow-contract.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { workflowIds } from '../workflow-ids.js';
import { ownedBy, PRIORITIES, type StartOptions, type WorkflowStarter } from '../workflow-starter.js';

/** What starting its workflow needs of a delivery. */
type StartedDelivery = Pick<DeliveryRecord, '_id' | 'org' | 'doc_id' | 'event_type' | 'payload' | 'has_workflow'>;

export type DeliveryStarters = ReturnType<typeof createDeliveryStarters>;

/** Starts and signals the workflows of deliveries. */
export function createDeliveryStarters({ start, signalWithStart }: WorkflowStarter) {
  const startDelivery = async (delivery: StartedDelivery): Promise<void> => {
    if (delivery.has_workflow) await start('deliverWebhook', optionsOf(delivery));
  };

  return {
    startDelivery,

    /** Starts several deliveries, of which only some have a workflow (`load-switch.ts`). Rejects with the first error. */
    async startDeliveries(deliveries: readonly StartedDelivery[]): Promise<void> {
      await Promise.all(deliveries.map(startDelivery));
    },

    /** Starts the workflow of a delivery that has failed without, for the time when it is due. */
    continueDelivery: (delivery: StartedDelivery, dueInMs: number): Promise<void> =>
      start('deliverWebhook', { ...optionsOf(delivery), startDelay: dueInMs }),

    /** Signals the delivery's workflow to retry now; starts a new run when the last run has ended. */
    retryDelivery: (delivery: StartedDelivery): Promise<void> =>
      signalWithStart('deliverWebhook', RETRY_NOW, optionsOf(delivery)),

    /** Starts a bulk retry. */
    startReplay: ({ _id, org, matching }: { _id: string; org: string; matching: number }): Promise<void> =>
      start('replayDeliveries', {
        workflowId: workflowIds.replay(org, _id),
        taskQueue: 'deliveries',
        args: [{ replay: _id, org }],
        staticSummary: `Retry of about ${matching} deliveries`,
        ...ownedBy({ org }, PRIORITIES.upkeep),
      }),

    /** Starts the workflow that shows the failed deliveries without workflows; does nothing when it runs. */
    startBacklog: ({ org, event_type }: Pick<StartedDelivery, 'org' | 'event_type'>): Promise<void> =>
      start('followBacklog', {
        workflowId: workflowIds.backlog(org, event_type),
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        taskQueue: 'deliveries',
        args: [{ org, event_type }],
        staticSummary: `Many failed deliveries of ${event_type}`,
        ...ownedBy({ org }, PRIORITIES.upkeep),
      }),
  };
}

function optionsOf({ _id, org, doc_id, event_type, payload }: StartedDelivery): StartOptions<'deliverWebhook'> {
  const ref: DeliveryRef = { delivery: _id, org };
  return {
    workflowId: workflowIds.delivery(_id),
    // A requeued delivery needs a new run. For a finished delivery, a new run does nothing.
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    taskQueue: 'deliveries',
    args: [ref],
    staticSummary: `${event_type} of ${doc_id}${payload === null ? '' : ` in ${payload.database}`}`,
    ...ownedBy({ org, source: doc_id, database: payload?.database, collection: payload?.collection }),
  };
}
