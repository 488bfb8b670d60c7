import { setTimeout as wait } from 'node:timers/promises';
import { ApplicationFailure, Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { WorkMetrics } from '../../domain/metrics.js';
import type { CallbackEvent } from '../../domain/webhooks/events.js';
import type { DeliveryRef } from '../../domain/webhooks/workflow-contract.js';
import type { Deliveries, DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { type AttemptDependencies, createAttempt } from './attempt.js';
import type { Callback } from './callback.js';
import { createReceiverLoad } from './receiver-load.js';

/** What the workflow is told: `failed` means that another attempt is due. */
export type DeliveryProgress = 'delivered' | 'failed' | 'permanently_failed';

export interface DeliveryDependencies extends AttemptDependencies {
  deliveries: Deliveries;
  /** How each kind of callback is sent. */
  callbacks: Record<CallbackEvent, Callback>;
  metrics: WorkMetrics;
}

export type DeliveryActivities = ReturnType<typeof createDeliveryActivities>['activities'];

/** How long a claim outlives the time limit of its attempt, for writing the outcome. */
const CLAIM_MARGIN_MS = 8_000;

/** A first attempt holds its workflow task for so long at the most; then it goes on beside it. */
const AT_ONCE_MS = 2_000;
/** The wait for room at a busy receiver: doubled each time, up to a minute. */
const BUSY_MS = 2_000;
const MAX_BUSY_MS = 60_000;

interface Standing {
  progress: DeliveryProgress;
  /** Milliseconds until another attempt may be made. */
  dueInMs: number;
  /** Why it is not delivered yet, for operators: a code such as `HTTP_503`, never an address. */
  why?: string | null;
}

/** Claim, attempt and record: one delivery's attempt from its record in MongoDB to its record in MongoDB. */
export function createDeliveryActivities(deps: DeliveryDependencies) {
  const { deliveries, callbacks } = deps;
  const attempt = createAttempt(deps);
  const attemptMs = Object.fromEntries(
    Object.entries(callbacks).map(([event, { policy }]) => [event, policy.timeoutMs + CLAIM_MARGIN_MS]),
  ) as Record<CallbackEvent, number>;
  const load = createReceiverLoad(AT_ONCE_MS);
  const underWay = new Map<string, Promise<Standing>>();

  const activities = {
    /**
     * The first attempt. One that fails, lasts too long or finds no room at the receiver is no error here: the workflow
     * goes on with `attemptDelivery`, which waits for it or repeats it.
     */
    async attemptDeliveryAtOnce({ delivery, org, receiver = org }: DeliveryRef): Promise<DeliveryProgress> {
      if (!load.isQuick(receiver)) return 'failed';
      const timeUp = new AbortController();
      const tooLong = wait(AT_ONCE_MS, 'failed' as const, { signal: timeUp.signal }).catch(() => 'failed' as const);
      const attempt = begin(delivery, receiver).then(({ progress }) => progress);
      attempt.catch(() => undefined);
      return Promise.race([attempt, tooLong]).finally(() => timeUp.abort());
    },

    /**
     * Attempts when the delivery is due, and fails with the time of the next attempt as its retry delay until the
     * delivery has ended.
     */
    async attemptDelivery({ delivery, org, receiver = org }: DeliveryRef): Promise<DeliveryProgress> {
      const { progress, dueInMs, why } = await (underWay.get(delivery) ??
        (load.hasRoom(receiver) ? begin(delivery, receiver) : busy()));
      if (progress !== 'failed') return progress;
      throw ApplicationFailure.create({
        type: 'AttemptFailed',
        // Receivers fail all the time; that is not this worker's failure to log and count.
        category: ApplicationFailureCategory.BENIGN,
        message: `Not delivered yet: ${why ?? 'it waits its turn'}. The delivery record tells more.`,
        nextRetryDelay: Math.max(dueInMs, 1),
      });
    },
  };

  return {
    activities,
    /** Resolves when the attempts that have outlived their activity are on record. */
    async drain(): Promise<void> {
      await Promise.allSettled(underWay.values());
    },
  };

  function begin(deliveryId: string, receiver: string): Promise<Standing> {
    const attempt = load.track(receiver, () => attemptWhenDue(deliveryId)).finally(() => underWay.delete(deliveryId));
    underWay.set(deliveryId, attempt);
    return attempt;
  }

  function busy(): Standing {
    const doubled = BUSY_MS * 2 ** Math.min(Context.current().info.attempt - 1, 10);
    const dueInMs = Math.round(Math.min(doubled, MAX_BUSY_MS) * (0.75 + 0.5 * deps.random()));
    return { progress: 'failed', dueInMs, why: 'its receiver keeps others waiting' };
  }

  async function attemptWhenDue(deliveryId: string): Promise<Standing> {
    const now = await deps.now();
    const claimed = await deliveries.claim(deliveryId, now, attemptMs);
    if (!claimed) return whereItStands(await deliveries.getById(deliveryId), now);
    const { recorded, request } = await attempt(claimed, callbacks[claimed.event_type]);
    const end = await deps.now();
    await deliveries.record(claimed, recorded, end);
    deps.metrics.deliveryAttempted(recorded.status);
    await request?.attempted?.(recorded.status === 'delivered', end);
    deps.log.info(
      { delivery_id: deliveryId, state: recorded.status, attempts: claimed.attempts, error: recorded.error_message },
      'delivery attempt',
    );
    return {
      progress: recorded.status,
      dueInMs: millisecondsUntil(recorded.next_attempt_at, end),
      why: recorded.error_code,
    };
  }
}

/** What an attempt that could not be claimed reports: another holds it, it is not due, or it has ended. */
function whereItStands(record: DeliveryRecord | null, now: Date): Standing {
  if (!record || record.status === 'permanently_failed') return { progress: 'permanently_failed', dueInMs: 0 };
  if (record.status === 'delivered') return { progress: 'delivered', dueInMs: 0 };
  const due = record.status === 'sweeping' ? record.claimed_until : record.next_attempt_at;
  return { progress: 'failed', dueInMs: millisecondsUntil(due, now), why: record.error_code };
}

function millisecondsUntil(due: Date | null, now: Date): number {
  return due === null ? 0 : Math.max(0, due.getTime() - now.getTime());
}
