import type { LaneFlags } from '../../domain/webhooks/lanes.js';
import { type DeliveryRef, RETRY_NOW, WAKE_LANE } from '../../domain/webhooks/workflow-contract.js';
import { workflowIds } from '../workflow-ids.js';
import { ownedBy, PRIORITIES, type StartOptions, type WorkflowStarter } from '../workflow-starter.js';
import { createLaneWaker } from './lane-waker.js';

/** The fields of a delivery that starting its workflow needs; a subset of `DeliveryRecord`. */
export interface StartDeliveryInput {
  _id: string;
  org: string;
  doc_id: string;
  event_type: string;
  receiver?: string | null;
  /** Has the database and the collection of the item. */
  payload: { database: string; collection: string } | null;
  /** The lane of a delivery without a workflow of its own. */
  lane?: number | null;
}

/** Workflow starts in progress for one call. */
const STARTS_AT_A_TIME = 10;

export type DeliveryStarters = ReturnType<typeof createDeliveryStarters>;

/**
 * Starts and wakes the workflows of deliveries, and their lanes.
 * @param flags shared by all processes, so that a lane that runs gets few signals
 */
export function createDeliveryStarters({ start, signalWithStart }: WorkflowStarter, flags?: LaneFlags) {
  const signalLane = (lane: number): Promise<void> =>
    signalWithStart('deliverLane', WAKE_LANE, {
      workflowId: workflowIds.lane(lane),
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      taskQueue: 'deliveries',
      args: [{ lane }],
      staticSummary: `Lane ${lane}: first attempts of many deliveries`,
      priority: { priorityKey: PRIORITIES.interactive },
    });
  const wakeLane = createLaneWaker(signalLane, flags);
  const startDelivery = (delivery: StartDeliveryInput): Promise<void> =>
    typeof delivery.lane === 'number' ? wakeLane(delivery.lane) : start('deliverWebhook', optionsOf(delivery));

  return {
    startDelivery,

    /** Starts several deliveries, some at a time. Rejects with the first error. */
    async startDeliveries(deliveries: readonly StartDeliveryInput[]): Promise<void> {
      const ownWorkflow = deliveries.filter(({ lane }) => typeof lane !== 'number');
      const lanes = new Set(deliveries.map(({ lane }) => lane).filter((lane) => typeof lane === 'number'));
      await Promise.all([...lanes].map(wakeLane));
      for (let from = 0; from < ownWorkflow.length; from += STARTS_AT_A_TIME) {
        await Promise.all(ownWorkflow.slice(from, from + STARTS_AT_A_TIME).map(startDelivery));
      }
    },

    /** Starts the workflow of a delivery that has failed in its lane, for the time when it is due. */
    continueDelivery: (delivery: StartDeliveryInput, dueInMs: number): Promise<void> =>
      start('deliverWebhook', { ...optionsOf(delivery), startDelay: dueInMs }),

    /** Signals the delivery's workflow to retry now; starts a new run when the last run has ended. */
    retryDelivery: (delivery: StartDeliveryInput): Promise<void> =>
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

    /** Signals a lane even if its flag says that it runs. */
    startLane: signalLane,
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
    ...ownedBy({ org, source: doc_id, database: payload?.database, collection: payload?.collection }),
  };
}
