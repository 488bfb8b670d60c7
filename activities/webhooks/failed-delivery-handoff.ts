import { LRUCache } from 'lru-cache';
import type { DeliveryState } from '../../domain/webhooks/states.js';
import type { Deliveries, DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { Outcome } from '../../storage/webhooks/outcome-updates.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import type { AttemptDependencies } from './attempt.js';

export interface HandoffDependencies {
  deliveries: Pick<Deliveries, 'countFailed'>;
  starters: Pick<DeliveryStarters, 'continueDelivery' | 'startBacklog'>;
  log: AttemptDependencies['log'];
  now: AttemptDependencies['now'];
}

export type FailedDeliveryHandoff = ReturnType<typeof createFailedDeliveryHandoff>;

/** Failed deliveries of an organisation and an event that wait as workflows of their own. */
const MAX_OPEN = 1_000;
/** How long a number of failed deliveries is used, and a backlog's workflow is expected to run. */
const VALID_MS = 10_000;
/** Numbers kept in memory. */
const MAX_ROOMS = 10_000;
/** Starts in progress at the same time, so that they do not slow down the attempts. */
const CONCURRENT_STARTS = 5;
/** Starts that wait. The reconciler makes the others. */
const MAX_WAITING = 1_000;

/** Gives failed deliveries a workflow, in which operators see them. */
export function createFailedDeliveryHandoff({ deliveries, starters, log, now }: HandoffDependencies) {
  /** How many more may wait as workflows of their own, by organisation and event. */
  const rooms = new LRUCache<string, { left: number }>({ max: MAX_ROOMS, ttl: VALID_MS });
  /** The backlogs whose workflow has been started a moment ago. */
  const backlogs = new LRUCache<string, true>({ max: MAX_ROOMS, ttl: VALID_MS });
  const waiting: (() => Promise<void>)[] = [];
  const running = new Set<Promise<void>>();

  return {
    /**
     * Whether a delivery has a workflow after this outcome. A delivery that has failed for good gets one in any case. A delivery that
     * waits for its next attempt gets one unless many others wait: then they wait behind one visible workflow.
     */
    async hasWorkflow(claimed: DeliveryRecord, status: DeliveryState): Promise<boolean> {
      if (status === 'permanently_failed') return true;
      if (status === 'delivered') return claimed.has_workflow;
      // When the count fails, the delivery gets a workflow: a few more do no harm.
      return hasRoom(claimed).catch((error) => {
        log.warn({ err: error, delivery_id: claimed._id }, 'failed deliveries not counted');
        return true;
      });
    },
    /** Starts the workflow of a delivery whose outcome has been stored. */
    handOver({ claimed, recorded, has_workflow }: Outcome): void {
      const ids = { delivery_id: claimed._id };
      if (!has_workflow) {
        if (backlogs.has(keyOf(claimed))) return;
        backlogs.set(keyOf(claimed), true);
        add(() => startOrDefer(log, 'backlog', ids, () => starters.startBacklog(claimed)));
      } else if (!claimed.has_workflow) {
        const due = recorded.next_attempt_at?.getTime() ?? 0;
        add(() =>
          startOrDefer(log, 'delivery', ids, async () =>
            starters.continueDelivery(claimed, Math.max(0, due - (await now()).getTime())),
          ),
        );
      }
    },
    /** Resolves when all workflows have been started. */
    async settled(): Promise<void> {
      while (running.size > 0) await Promise.all(running);
    },
  };

  async function hasRoom(claimed: DeliveryRecord): Promise<boolean> {
    const key = keyOf(claimed);
    let room = rooms.get(key);
    if (!room) {
      room = { left: MAX_OPEN - (await deliveries.countFailed(claimed.org, claimed.event_type, MAX_OPEN)) };
      rooms.set(key, room);
    }
    room.left -= 1;
    return room.left >= 0;
  }

  function add(start: () => Promise<void>): void {
    if (waiting.length >= MAX_WAITING) return;
    waiting.push(start);
    if (running.size >= CONCURRENT_STARTS) return;
    const worker = startWaiting().finally(() => running.delete(worker));
    running.add(worker);
  }

  async function startWaiting(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next();
  }
}

const keyOf = ({ org, event_type }: DeliveryRecord): string => `${event_type} ${org}`;
