import { setTimeout as wait } from 'node:timers/promises';
import type { ReplayProgress, ReplayRef } from '../../domain/webhooks/workflow-contract.js';
import type { ClientDeliveries, DeliveryScope } from '../../storage/webhooks/client-deliveries.js';
import type { DeliveryQueue } from '../../storage/webhooks/delivery-queue.js';
import type { Replays } from '../../storage/webhooks/replays.js';
import { withHeartbeat } from '../heartbeat.js';

export interface ReplayDependencies {
  replays: Pick<Replays, 'advance' | 'end' | 'findForOrg'>;
  clientDeliveries: Pick<ClientDeliveries, 'listRetryable' | 'requeueAll'>;
  deliveryQueue: Pick<DeliveryQueue, 'countDue'>;
  now: () => Date;
}

export type ReplayActivities = ReturnType<typeof createReplayActivities>;

/** Deliveries requeued together. */
const BATCH = 100;
/** Deliveries of the receiver that may be due. More would delay the receiver's new deliveries. */
const MAX_WAITING = 200;
const PAUSE_MS = 200;
/** Then the workflow continues, so that it shows the progress. */
const MAX_RUN_MS = 20_000;

/** Sends many deliveries again, oldest first, at the pace at which their receiver takes them. */
export function createReplayActivities({ replays, clientDeliveries, deliveryQueue, now }: ReplayDependencies) {
  return {
    /** Requeues deliveries for a while. A repeated run continues after the last batch. */
    replayBatches: (ref: ReplayRef): Promise<ReplayProgress> => withHeartbeat((signal) => replayBatches(ref, signal)),

    /** Stores that an operator has cancelled the replay. */
    cancelReplay: ({ replay, org }: ReplayRef): Promise<void> => replays.end(org, replay, 'cancelled'),
  };

  async function replayBatches({ replay: id, org }: ReplayRef, signal: AbortSignal): Promise<ReplayProgress> {
    const endsAt = performance.now() + MAX_RUN_MS;
    for (;;) {
      const replay = await replays.findForOrg(org, id);
      if (!replay) return { requeued: 0, matching: 0, ended: true };
      const { requeued, matching } = replay;
      if (replay.status !== 'running') return { requeued, matching, ended: true };
      if (performance.now() > endsAt) return { requeued, matching, ended: false };
      signal.throwIfAborted();
      if (!(await hasRoom(replay.org))) {
        await wait(PAUSE_MS, undefined, { signal });
        continue;
      }
      // Only indexing webhooks are replayed: they have one receiver, the organisation's registration.
      const scope: DeliveryScope = { org, events: ['indexing.status_changed'] };
      const batch = await clientDeliveries.listRetryable(scope, replay.filter, {
        from: replay.position ?? undefined,
        limit: BATCH,
      });
      if (batch.length === 0) {
        await replays.end(org, id, 'completed');
        continue;
      }
      const ids = batch.map(({ _id }) => _id);
      await replays.advance(replay, ids.at(-1)!, await clientDeliveries.requeueAll(scope, ids));
    }
  }

  /** The receiver of an organisation's registration is the organisation. */
  async function hasRoom(org: string): Promise<boolean> {
    return (await deliveryQueue.countDue(org, now(), MAX_WAITING)) <= MAX_WAITING - BATCH;
  }
}
