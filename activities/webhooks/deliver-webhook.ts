import { setTimeout as wait } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { BacklogRef, DeliveryRef } from '../../domain/webhooks/workflow-contract.js';
import type { Deliveries, DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { Outcome } from '../../storage/webhooks/outcome-updates.js';
import { type Sender, SenderStopped } from './sender.js';
import { SLOW_MS } from './sender-load.js';

/**
 * `failed` means that another attempt is due, `in_backlog` the same of a delivery that waits without a workflow, because many others
 * of its receiver do.
 */
export type DeliveryProgress = 'delivered' | 'failed' | 'permanently_failed' | 'in_backlog';

export interface DeliveryDependencies {
  sender: Pick<Sender, 'ask'>;
  deliveries: Pick<Deliveries, 'countFailed' | 'getById' | 'markShown'>;
  /** The clock for due dates. Tests that skip time pass Temporal's own time. */
  now: () => Date | Promise<Date>;
}

export type DeliveryActivities = ReturnType<typeof createDeliveryActivities>;

/** Pauses between looks at an attempt that another process makes: while the workflow task waits, and afterwards. */
const FIRST_LOOK_MS = 25;
const MIN_LOOK_MS = 1_000;
const MAX_LOOK_MS = 5_000;
/** Longest pause before the next look at a delivery that waits until its receiver has room. */
const MAX_WAIT_MS = 5 * 60 * 1000;
/** Deliveries of a backlog that are counted. */
const MAX_COUNTED = 10_000;

/** What a workflow shows of its delivery. */
interface Shown {
  progress: DeliveryProgress;
  /** Milliseconds until the next look. */
  lookInMs: number;
  /** Why it is not delivered yet, for operators: a code such as `HTTP_503`, never an address. */
  reason?: string | null;
}

/** How a workflow follows its delivery. The sender makes the attempts. */
export function createDeliveryActivities({ sender, deliveries, now }: DeliveryDependencies) {
  return {
    /**
     * Asks the sender for the first attempt, and waits for it while that does not take long. `failed` is not an error here: the
     * workflow continues with `followDelivery`.
     */
    async deliverAtOnce(ref: DeliveryRef): Promise<DeliveryProgress> {
      const finished = new AbortController();
      const timeLimit = wait(SLOW_MS, 'failed' as const, { signal: finished.signal }).catch(() => 'failed' as const);
      const progress = untilAttempted(ref, finished.signal);
      progress.catch(() => undefined);
      return Promise.race([progress, timeLimit]).finally(() => finished.abort());
    },

    /**
     * Asks the sender for an attempt when the delivery is due. Until the delivery has ended it fails, with the time until the next
     * attempt as its retry delay.
     */
    async followDelivery(ref: DeliveryRef): Promise<DeliveryProgress> {
      const { progress, lookInMs, reason } = await ask(ref).catch((error) => {
        if (error instanceof SenderStopped)
          return { progress: 'failed' as const, lookInMs: 0, reason: 'the worker stops' };
        throw error;
      });
      if (progress !== 'failed') return progress;
      throw ApplicationFailure.create({
        type: 'AttemptFailed',
        // A failing receiver is normal, so the worker does not log and count this as a failure of its own.
        category: ApplicationFailureCategory.BENIGN,
        message: `Not delivered yet: ${reason ?? 'not due yet'}. The delivery record has the details.`,
        nextRetryDelay: Math.max(lookInMs, 1),
      });
    },

    /** @returns how many deliveries of a backlog wait without a workflow, up to 10,000 */
    countBacklog: ({ org, event_type }: BacklogRef): Promise<number> =>
      deliveries.countFailed(org, event_type, MAX_COUNTED, { has_workflow: false }),
  };

  /** A first attempt that another process makes is looked at until it has ended. */
  async function untilAttempted(ref: DeliveryRef, signal: AbortSignal): Promise<DeliveryProgress> {
    for (let pause = FIRST_LOOK_MS; ; pause *= 2) {
      const { outcome, record, isSlow } = await sender.ask(ref.delivery);
      // A receiver that takes long must not hold workflow tasks.
      if (isSlow) return 'failed';
      const isElsewhere = !outcome && record?.status === 'sweeping';
      if (!isElsewhere) return (await show(ref, await (outcome ? afterAttempt(ref, outcome) : record))).progress;
      await wait(pause, undefined, { signal });
    }
  }

  async function ask(ref: DeliveryRef): Promise<Shown> {
    const { outcome, record } = await sender.ask(ref.delivery);
    return show(ref, outcome ? await afterAttempt(ref, outcome) : record);
  }

  /** @returns the delivery as it is after an attempt */
  async function afterAttempt({ org, delivery }: DeliveryRef, attempt: Promise<Outcome | null>) {
    const outcome = await attempt;
    if (!outcome) return deliveries.getById(org, delivery);
    const { claimed, recorded, has_workflow } = outcome;
    const { status, next_attempt_at, error_code } = recorded;
    return { ...claimed, status, next_attempt_at, error_code, has_workflow };
  }

  async function show({ org, delivery }: DeliveryRef, record: DeliveryRecord | null): Promise<Shown> {
    if (record?.status === 'permanently_failed') await deliveries.markShown(org, delivery);
    return shownOf(record, await now());
  }
}

function shownOf(record: DeliveryRecord | null, now: Date): Shown {
  if (!record || record.status === 'permanently_failed') return { progress: 'permanently_failed', lookInMs: 0 };
  if (record.status === 'delivered') return { progress: 'delivered', lookInMs: 0 };
  if (!record.has_workflow) return { progress: 'in_backlog', lookInMs: 0 };
  const dueInMs = record.next_attempt_at!.getTime() - now.getTime();
  const sinceChange = now.getTime() - record.updated_at.getTime();
  // Another process makes an attempt, and its outcome decides when the next attempt is due.
  if (record.status === 'sweeping')
    return {
      progress: 'failed',
      lookInMs: Math.min(between(sinceChange / 2, MIN_LOOK_MS, MAX_LOOK_MS), Math.max(0, dueInMs)),
      reason: record.error_code,
    };
  if (dueInMs > 0) return { progress: 'failed', lookInMs: dueInMs, reason: record.error_code };
  const reason = 'the receiver has too many attempts in progress';
  return { progress: 'failed', lookInMs: between(-dueInMs / 2, MIN_LOOK_MS, MAX_WAIT_MS), reason };
}

function between(value: number, least: number, most: number): number {
  return Math.round(Math.min(Math.max(value, least), most));
}
