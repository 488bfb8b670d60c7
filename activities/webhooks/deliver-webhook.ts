import { setTimeout as wait } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { WorkMetrics } from '../../domain/metrics.js';
import type { CallbackEvent } from '../../domain/webhooks/events.js';
import type { DeliveryRef } from '../../domain/webhooks/workflow-contract.js';
import type { Deliveries, DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { AttemptCancelled, type AttemptDependencies, AttemptNotSent, createAttempt } from './attempt.js';
import type { Callback } from './callback.js';
import { createLaneSender, type LaneDependencies } from './deliver-lane.js';
import { type AttemptSlots, createReceiverLoad } from './receiver-load.js';
import { recordWithRetries } from './record-with-retries.js';
import { createWaitingDeliveries } from './waiting-deliveries.js';

/** `failed` means that another attempt is due. */
export type DeliveryProgress = 'delivered' | 'failed' | 'permanently_failed';

export interface DeliveryDependencies extends AttemptDependencies, LaneDependencies {
  deliveries: Pick<Deliveries, 'claim' | 'getById' | 'record' | 'release'>;
  callbacks: Record<CallbackEvent, Callback>;
  metrics: Pick<WorkMetrics, 'deliveryAttempted'>;
  /** The load of the worker that runs these activities. */
  slots: AttemptSlots;
}

export type DeliveryActivities = ReturnType<typeof createDeliveryActivities>['activities'];

/** How long a claim outlives the time limit of its attempt, so that the outcome can be recorded. */
const CLAIM_MARGIN_MS = 8_000;

/** How long a first attempt may hold its workflow task. After this it continues outside the task. */
const MAX_FIRST_ATTEMPT_MS = 2_000;

/** Pause before the next check of an attempt that another process makes. */
const MIN_LOOK_MS = 1_000;
const MAX_LOOK_MS = 5_000;

/** The state of a delivery after an attempt, or after an attempt that could not start. */
interface AttemptStatus {
  progress: DeliveryProgress;
  /** Milliseconds until another attempt may be made. */
  dueInMs: number;
  /** Why it is not delivered yet, for operators: a code such as `HTTP_503`, never an address. */
  reason?: string | null;
}

/** Claim a delivery, attempt it, and record the outcome. */
export function createDeliveryActivities(deps: DeliveryDependencies) {
  const { deliveries, callbacks } = deps;
  const attempt = createAttempt(deps);
  const claimMs = Object.fromEntries(
    Object.entries(callbacks).map(([event, { policy }]) => [event, policy.timeoutMs + CLAIM_MARGIN_MS]),
  ) as Record<CallbackEvent, number>;
  const load = createReceiverLoad(MAX_FIRST_ATTEMPT_MS, deps.slots);
  const waiting = createWaitingDeliveries();
  /** This process is stopping, so no waiting delivery starts any more. */
  let draining = false;
  const inProgress = new Map<string, Promise<AttemptStatus>>();
  const lanes = createLaneSender(deps, { load, slots: deps.slots, claimMs, freed: startWaiting });

  const activities = {
    /** The first attempts of the deliveries in a lane. */
    deliverLane: lanes.deliverLane,

    /**
     * The first attempt. `failed` is not an error here: it also means that the attempt takes too long or that the receiver is
     * busy. The workflow continues with `attemptDelivery`, which waits for this attempt or makes another.
     */
    async attemptDeliveryAtOnce({ delivery, org, receiver = org }: DeliveryRef): Promise<DeliveryProgress> {
      if (!load.isQuick(receiver)) return 'failed';
      const finished = new AbortController();
      const timeLimit = wait(MAX_FIRST_ATTEMPT_MS, 'failed' as const, { signal: finished.signal }).catch(
        () => 'failed' as const,
      );
      const progress = startAttempt({ delivery, org }, receiver).then((status) => status.progress);
      progress.catch(() => undefined);
      return load.trackFirst(receiver, () => Promise.race([progress, timeLimit]).finally(() => finished.abort()));
    },

    /**
     * Makes an attempt when the delivery is due. Until the delivery has ended it fails, with the time until the next
     * attempt as its retry delay.
     */
    async attemptDelivery({ delivery, org, receiver = org }: DeliveryRef): Promise<DeliveryProgress> {
      const { progress, dueInMs, reason } = await (inProgress.get(delivery) ??
        (load.hasRoom(receiver)
          ? startAttempt({ delivery, org }, receiver)
          : waitForRoom({ delivery, org }, receiver)));
      if (progress !== 'failed') return progress;
      throw ApplicationFailure.create({
        type: 'AttemptFailed',
        // A failing receiver is normal, so the worker does not log and count this as a failure of its own.
        category: ApplicationFailureCategory.BENIGN,
        message: `Not delivered yet: ${reason ?? 'not due yet'}. The delivery record has the details.`,
        nextRetryDelay: Math.max(dueInMs, 1),
      });
    },
  };

  return {
    activities,
    /** Ends the lanes, so that their activities return. */
    stopLanes: lanes.stop,
    /** Resolves when the attempts that have outlived their activity are recorded. */
    async drain(): Promise<void> {
      draining = true;
      await Promise.allSettled([...inProgress.values(), lanes.drain()]);
    },
  };

  function startAttempt(ref: DeliveryRef, receiver: string): Promise<AttemptStatus> {
    waiting.remove(receiver, ref.delivery);
    const status = load
      .track(receiver, () => attemptWhenDue(ref))
      .finally(() => {
        inProgress.delete(ref.delivery);
        startWaiting(receiver);
      });
    inProgress.set(ref.delivery, status);
    return status;
  }

  function waitForRoom(ref: DeliveryRef, receiver: string): AttemptStatus {
    const dueInMs = waiting.add(receiver, ref);
    return { progress: 'failed', dueInMs, reason: 'the receiver has too many attempts in progress' };
  }

  /** Fills the receiver's room without Temporal, which gets the outcome when it asks for the delivery. */
  function startWaiting(receiver: string): void {
    while (!draining && load.hasRoom(receiver)) {
      const next = waiting.next(receiver);
      if (next === undefined) return;
      startAttempt(next, receiver).catch((error) =>
        deps.log.error({ err: error, delivery_id: next.delivery }, 'attempt failed'),
      );
    }
  }

  async function attemptWhenDue({ delivery: deliveryId, org }: DeliveryRef): Promise<AttemptStatus> {
    const now = await deps.now();
    const claimed = await deliveries.claim(org, deliveryId, now, claimMs);
    if (!claimed) return statusOf(await deliveries.getById(org, deliveryId), now);
    const { recorded, request } = await attempt(claimed, callbacks[claimed.event_type]).catch((error) =>
      releaseAfter(error, claimed),
    );
    const finishedAt = await deps.now();
    const record = () => deliveries.record(claimed, recorded, finishedAt);
    const stored = await recordWithRetries(record, (error) =>
      deps.log.warn({ err: error, delivery_id: deliveryId }, 'outcome not stored yet'),
    );
    if (!stored) {
      deps.log.warn(
        { delivery_id: deliveryId, attempts: claimed.attempts },
        'outcome not stored: the claim had expired',
      );
      return statusOf(await deliveries.getById(org, deliveryId), finishedAt);
    }
    deps.metrics.deliveryAttempted(claimed.event_type, recorded);
    await request?.attempted?.(recorded.status === 'delivered', finishedAt);
    deps.log.info(
      { delivery_id: deliveryId, state: recorded.status, attempts: claimed.attempts, error: recorded.error_message },
      'delivery attempt',
    );
    return {
      progress: recorded.status,
      dueInMs: millisecondsUntil(recorded.next_attempt_at, finishedAt),
      reason: recorded.error_code,
    };
  }

  /** A cancelled attempt releases its claim, so that another worker can repeat it at once. */
  async function releaseAfter(error: unknown, claimed: DeliveryRecord): Promise<never> {
    if (error instanceof AttemptCancelled) {
      draining = true;
      await deliveries.release(claimed, await deps.now());
    }
    if (error instanceof AttemptNotSent) await deliveries.release(claimed, await deps.now(), false);
    throw error;
  }
}

/** The status of a delivery that could not be claimed: another process holds it, it is not due, or it has ended. */
function statusOf(record: DeliveryRecord | null, now: Date): AttemptStatus {
  if (!record || record.status === 'permanently_failed') return { progress: 'permanently_failed', dueInMs: 0 };
  if (record.status === 'delivered') return { progress: 'delivered', dueInMs: 0 };
  const { next_attempt_at } = record;
  if (record.status === 'sweeping')
    return { progress: 'failed', dueInMs: untilNextLook(record, now), reason: record.error_code };
  return { progress: 'failed', dueInMs: millisecondsUntil(next_attempt_at, now), reason: record.error_code };
}

/**
 * Another process makes an attempt, and its outcome decides when the next attempt is due. The pauses grow with the time
 * that the attempt has taken, so that a receiver that hangs causes few checks.
 */
function untilNextLook({ updated_at: claimedAt, claimed_until }: DeliveryRecord, now: Date): number {
  const pause = Math.min(Math.max((now.getTime() - claimedAt.getTime()) / 2, MIN_LOOK_MS), MAX_LOOK_MS);
  return Math.round(Math.min(pause, millisecondsUntil(claimed_until, now)));
}

function millisecondsUntil(due: Date | null, now: Date): number {
  return due === null ? 0 : Math.max(0, due.getTime() - now.getTime());
}
