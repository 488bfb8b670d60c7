import type { Logger } from 'pino';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { LaneQueue } from '../../storage/webhooks/lane-queue.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';

export interface LaneDepartureDependencies {
  laneQueue: Pick<LaneQueue, 'countFailed'>;
  starters: Pick<DeliveryStarters, 'continueDelivery'>;
  log: Pick<Logger, 'warn'>;
}

/** Deliveries that failed in a lane and continue as workflows of their own. */
export interface LaneDepartures {
  /** Whether the delivery may leave its lane: few deliveries of its organisation and event wait for an attempt. */
  hasRoom(delivery: DeliveryRecord): Promise<boolean>;
  /** Starts the workflow of a delivery that has left, for the time when it is due. */
  leave(delivery: DeliveryRecord, due: Date): void;
  /** Resolves when all workflows have been started. */
  settled(): Promise<void>;
}

/** Deliveries that may wait as workflows, for each organisation and event. Further ones wait in their lane. */
const MAX_OPEN = 1_000;
/** How long a number of waiting deliveries is used. */
const COUNT_VALID_MS = 10_000;
/** Numbers kept in memory. */
const MAX_ROOMS = 10_000;
/** Starts in progress at the same time, so that they do not slow down the attempts. */
const CONCURRENT_STARTS = 5;

export function createLaneDepartures(
  { laneQueue, starters, log }: LaneDepartureDependencies,
  maxOpen = MAX_OPEN,
): LaneDepartures {
  const rooms = new Map<string, { left: number; until: number }>();
  const waiting: { delivery: DeliveryRecord; due: Date }[] = [];
  const running = new Set<Promise<void>>();

  return {
    async hasRoom(delivery) {
      const key = `${delivery.event_type} ${delivery.org}`;
      let room = rooms.get(key);
      if (!room || room.until < performance.now()) {
        const failed = await laneQueue.countFailed(delivery.org, delivery.event_type, maxOpen);
        room = { left: maxOpen - failed, until: performance.now() + COUNT_VALID_MS };
        if (rooms.size >= MAX_ROOMS) rooms.clear();
        rooms.set(key, room);
      }
      room.left -= 1;
      return room.left >= 0;
    },
    leave(delivery, due) {
      waiting.push({ delivery, due });
      if (running.size < CONCURRENT_STARTS) run();
    },
    async settled() {
      while (running.size > 0) await Promise.all(running);
    },
  };

  function run(): void {
    const worker = startWaiting().finally(() => running.delete(worker));
    running.add(worker);
  }

  async function startWaiting(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { delivery, due } = next;
      const delayMs = Math.max(0, due.getTime() - Date.now());
      await startOrDefer(log, 'delivery', { delivery_id: delivery._id }, () =>
        starters.continueDelivery(delivery, delayMs),
      );
    }
  }
}
