import { setTimeout as wait } from 'node:timers/promises';
import { laneOf } from '../../domain/webhooks/lanes.js';
import type { ReplayProgress, ReplayRef } from '../../domain/webhooks/workflow-contract.js';
import type { ClientDeliveries, DeliveryScope } from '../../storage/webhooks/client-deliveries.js';
import { type DeliveryRecord, receiverOf } from '../../storage/webhooks/deliveries.js';
import type { ReplayRecord, Replays } from '../../storage/webhooks/replays.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';
import { withHeartbeat } from '../heartbeat.js';

export interface ReplayDependencies {
  replays: Pick<Replays, 'advance' | 'end' | 'findForOrg'>;
  clientDeliveries: Pick<ClientDeliveries, 'countInLane' | 'listRetryable' | 'requeue' | 'requeueInLane'>;
  starters: Pick<DeliveryStarters, 'retryDelivery' | 'startDelivery'>;
  /** Number of lanes; 0: every delivery has its own workflow. */
  lanes: number;
}

export type ReplayActivities = ReturnType<typeof createReplayActivities>;

/** Deliveries requeued together. */
const BATCH = 100;
/** Deliveries of the receiver that may wait in its lane. More would delay the receiver's new deliveries. */
const MAX_WAITING = 200;
const PAUSE_MS = 200;
/** Starts of workflows in progress at the same time, without lanes. */
const CONCURRENT_STARTS = 10;
/** Then the workflow continues, so that it shows the progress. */
const MAX_RUN_MS = 20_000;

/** Sends many deliveries again, oldest first, at the pace at which their receiver takes them. */
export function createReplayActivities({ replays, clientDeliveries, starters, lanes }: ReplayDependencies) {
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
      const scope = scopeOf(replay);
      const batch = await clientDeliveries.listRetryable(scope, replay.filter, {
        after: replay.position,
        limit: BATCH,
      });
      if (batch.length === 0) await replays.end(org, id, 'completed');
      else await replays.advance(replay, batch.at(-1)!._id, await requeue(scope, batch));
    }
  }

  async function hasRoom(org: string): Promise<boolean> {
    if (lanes === 0) return true;
    return (await clientDeliveries.countInLane(org, laneOf(org, lanes), MAX_WAITING)) <= MAX_WAITING - BATCH;
  }

  /** @returns the number of requeued deliveries; others have changed since they were read */
  async function requeue(scope: DeliveryScope, batch: DeliveryRecord[]): Promise<number> {
    if (lanes > 0) {
      const lane = laneOf(receiverOf(batch[0]!), lanes);
      const requeued = await clientDeliveries.requeueInLane(scope, batch, lane);
      await starters.startDelivery({ ...batch[0]!, lane });
      return requeued;
    }
    let requeued = 0;
    for (let from = 0; from < batch.length; from += CONCURRENT_STARTS) {
      const some = batch.slice(from, from + CONCURRENT_STARTS).map(async (delivery) => {
        if (!(await clientDeliveries.requeue(scope, delivery._id))) return;
        requeued += 1;
        await starters.retryDelivery(delivery);
      });
      await Promise.all(some);
    }
    return requeued;
  }
}

/** Only indexing webhooks are replayed: they have one receiver, the organisation's registration. */
function scopeOf({ org }: ReplayRecord): DeliveryScope {
  return { org, events: ['indexing.status_changed'] };
}
