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

/** Gives failed deliveries a workflow, in which operators see them. */
export interface FailedDeliveryHandoff {
  /**
   * Whether a delivery has a workflow after this outcome. A delivery that has failed for good gets one in any case. A delivery that
   * waits for its next attempt gets one unless many others wait: then they wait behind one visible workflow.
   */
  hasWorkflow(claimed: DeliveryRecord, status: DeliveryState): Promise<boolean>;
  /** Starts the workflow of a delivery whose outcome has been stored. */
  handOver(outcome: Outcome): void;
  /** Resolves when all workflows have been started. */
  settled(): Promise<void>;
}

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

export function createFailedDeliveryHandoff({
  deliveries,
  starters,
  log,
  now,
}: HandoffDependencies): FailedDeliveryHandoff {
  const rooms = new Map<string, { left: number; until: number }>();
  const backlogs = new Map<string, number>();
  const waiting: (() => Promise<void>)[] = [];
  const running = new Set<Promise<void>>();

  return {
    async hasWorkflow(claimed, status) {
      if (status === 'permanently_failed') return true;
      if (status === 'delivered') return claimed.has_workflow;
      // When the count fails, the delivery gets a workflow: a few more do no harm.
      return hasRoom(claimed).catch((error) => {
        log.warn({ err: error, delivery_id: claimed._id }, 'failed deliveries not counted');
        return true;
      });
    },
    handOver({ claimed, recorded, has_workflow }) {
      const ids = { delivery_id: claimed._id };
      if (!has_workflow) {
        if (isFirstFor(claimed)) add(() => startOrDefer(log, 'backlog', ids, () => starters.startBacklog(claimed)));
      } else if (!claimed.has_workflow) {
        const due = recorded.next_attempt_at?.getTime() ?? 0;
        add(() =>
          startOrDefer(log, 'delivery', ids, async () =>
            starters.continueDelivery(claimed, Math.max(0, due - (await now()).getTime())),
          ),
        );
      }
    },
    async settled() {
      while (running.size > 0) await Promise.all(running);
    },
  };

  async function hasRoom(claimed: DeliveryRecord): Promise<boolean> {
    const key = keyOf(claimed);
    let room = rooms.get(key);
    if (!room || room.until < performance.now()) {
      const failed = await deliveries.countFailed(claimed.org, claimed.event_type, MAX_OPEN);
      room = { left: MAX_OPEN - failed, until: performance.now() + VALID_MS };
      if (rooms.size >= MAX_ROOMS) rooms.clear();
      rooms.set(key, room);
    }
    room.left -= 1;
    return room.left >= 0;
  }

  /** Whether no workflow of the delivery's backlog has been started a moment ago. */
  function isFirstFor(claimed: DeliveryRecord): boolean {
    const key = keyOf(claimed);
    if ((backlogs.get(key) ?? 0) > performance.now()) return false;
    if (backlogs.size >= MAX_ROOMS) backlogs.clear();
    backlogs.set(key, performance.now() + VALID_MS);
    return true;
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
