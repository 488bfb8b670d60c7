import { setTimeout as wait } from 'node:timers/promises';
import { CancelledFailure } from '@temporalio/activity';
import type { CallbackEvent } from '../../domain/webhooks/events.js';
import { FLAG_VALID_MS, type LaneFlags } from '../../domain/webhooks/lanes.js';
import type { LaneProgress, LaneRef } from '../../domain/webhooks/workflow-contract.js';
import { type Deliveries, type DeliveryRecord, receiverOf } from '../../storage/webhooks/deliveries.js';
import type { LaneQueue } from '../../storage/webhooks/lane-queue.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';
import { withHeartbeat } from '../heartbeat.js';
import { type Attempt, AttemptCancelled, type AttemptDependencies, AttemptNotSent, createAttempt } from './attempt.js';
import type { Callback } from './callback.js';
import { createLaneDepartures } from './lane-departures.js';
import { createLaneReader } from './lane-reader.js';
import { chooseDue, noTurns } from './lane-turns.js';
import { createOutcomeRecorder, type OutcomeRecorderDependencies } from './outcome-recorder.js';
import { type AttemptSlots, createOrganisationLoad, type ReceiverLoad } from './receiver-load.js';

export interface LaneDependencies extends AttemptDependencies, Pick<OutcomeRecorderDependencies, 'metrics'> {
  deliveries: Pick<Deliveries, 'release'>;
  laneQueue: Pick<LaneQueue, 'claim' | 'countFailed' | 'heads' | 'listDue' | 'read' | 'record'>;
  laneFlags: LaneFlags;
  starters: Pick<DeliveryStarters, 'continueDelivery' | 'startLane'>;
  callbacks: Record<CallbackEvent, Callback>;
}

/** What a lane shares with the other attempts of its process. */
export interface SharedLoad {
  load: ReceiverLoad;
  /** Slots of the process. One lane may use all that `load` gives it. */
  slots: AttemptSlots;
  /** How long a claim is valid, by event. */
  claimMs: Record<CallbackEvent, number>;
  /** Called when a receiver has room again. */
  freed(receiver: string): void;
}

/** Attempts that end before the lane claims again, unless `REFILL_MS` passes first. */
const REFILL_BATCH = 25;
const REFILL_MS = 25;
/** Pause after a claim of all that was due, so that few deliveries do not cost a claim each. */
const GATHER_MS = 20;
/** Pauses between checks of an empty lane; each is twice as long as the pause before. */
const MIN_PAUSE_MS = 10;
const MAX_PAUSE_MS = 100;
/** A lane that has been empty for this long lowers its flag. */
const IDLE_MS = 1_000;
/** Then it goes on checking for this long, because other processes may still rely on the flag. */
const FINAL_CHECKS_MS = FLAG_VALID_MS + 500;
/** How often a lane renews its flag, which lasts for `FLAG_LASTS_MS`. */
const RENEW_MS = 2_000;
/** Longest pause after an error, such as a database that elects a new primary. */
const ERROR_PAUSE_MS = 1_000;
/** Until a delivery whose request could not be built is due again. */
const NOT_SENT_PAUSE_MS = 1_000;
/** Then the workflow continues the lane in another activity task, so that no task lasts without end. */
const MAX_RUN_MS = 60 * 60 * 1000;

/**
 * Sends the deliveries of lanes: claims as many as their receivers have room for, attempts them side by side, stores the
 * outcomes together, and claims again as soon as places are free, so that no receiver waits for another.
 */
export function createLaneSender(deps: LaneDependencies, { load, slots, claimMs, freed }: SharedLoad) {
  const { laneQueue, laneFlags, log } = deps;
  const attempt = createAttempt(deps);
  const departures = createLaneDepartures(deps);
  const organisations = createOrganisationLoad(slots);
  const recorder = createOutcomeRecorder({ ...deps, departures });
  const inProgress = new Set<Promise<void>>();
  /** Lanes of deliveries that were released because this process stops. */
  const releasedIn = new Set<number>();
  let stopping = false;

  return {
    /**
     * Sends the deliveries of a lane until it is empty. A cancelled lane finishes the attempts in progress.
     * @returns the attempts that were recorded, and when the next delivery is due
     */
    deliverLane({ lane }: LaneRef): Promise<LaneProgress> {
      const run = createRun(lane);
      return withHeartbeat(run.untilEmpty, () => ({ ...run.counts, in_progress: run.own.size }));
    },
    /** Ends the lanes of this process after the attempts in progress, which `drain` waits for. */
    stop: () => {
      stopping = true;
    },
    /** Resolves when all attempts are recorded. */
    async drain(): Promise<void> {
      stopping = true;
      await Promise.allSettled(inProgress);
      // A lane in another process may have seen only their claims, and wait for these to expire.
      await Promise.allSettled([...releasedIn].map((lane) => deps.starters.startLane(lane)));
      await departures.settled();
    },
  };

  function createRun(lane: number) {
    const counts = { delivered: 0, failed: 0, permanently_failed: 0 };
    /** Attempts of this run in progress. */
    const own = new Set<Promise<void>>();
    const turns = noTurns();
    const reader = createLaneReader(laneQueue, lane);
    let pause = MIN_PAUSE_MS;
    let emptySince: number | null = null;
    let loweredAt: number | null = null;
    let renewedAt = Number.NEGATIVE_INFINITY;
    let ended = 0;
    let wakeUp = () => {};

    return { counts, own, untilEmpty };

    async function untilEmpty(cancelled: AbortSignal): Promise<LaneProgress> {
      const endsAt = performance.now() + MAX_RUN_MS;
      while (!stopping && !cancelled.aborted) {
        if (performance.now() > endsAt) return { ...counts, dueInMs: 0 };
        try {
          const empty = await claimOrWait();
          if (empty) return { ...counts, dueInMs: await untilDue(empty.nextDue) };
        } catch (error) {
          log.warn({ err: error, lane }, 'lane not read; it is read again');
          await wait(ERROR_PAUSE_MS * (0.5 + deps.random() / 2));
        }
      }
      if (stopping) return { ...counts, dueInMs: 0 };
      await Promise.allSettled(own);
      await laneFlags.lower(lane).catch((error) => log.warn({ err: error, lane }, 'flag of a lane not lowered'));
      throw new CancelledFailure('cancelled');
    }

    /** Claims deliveries that are due, and waits for attempts to end or for a moment. @returns when the lane has ended */
    async function claimOrWait(): Promise<{ nextDue: Date | null } | undefined> {
      const now = performance.now();
      if (loweredAt === null) await renewFlag();
      const { claimed, blocked, nextDue } = await fill();
      if (claimed > 0) {
        pause = MIN_PAUSE_MS;
        emptySince = null;
        loweredAt = null;
        await renewFlag();
        if (blocked) await attemptsEnded(Math.min(REFILL_BATCH, own.size), REFILL_MS);
        else await wait(GATHER_MS);
        return undefined;
      }
      if (own.size > 0 || blocked) {
        emptySince = null;
        await attemptsEnded(1, pause);
      } else {
        emptySince ??= now;
        if (loweredAt !== null && now - loweredAt > FINAL_CHECKS_MS) return { nextDue };
        if (loweredAt === null && now - emptySince > IDLE_MS) {
          await laneFlags.lower(lane);
          loweredAt = performance.now();
          renewedAt = Number.NEGATIVE_INFINITY;
        }
        await wait(pause);
      }
      pause = Math.min(2 * pause, MAX_PAUSE_MS);
      return undefined;
    }

    async function renewFlag(): Promise<void> {
      const now = performance.now();
      if (now - renewedAt < RENEW_MS) return;
      await laneFlags.renew(lane);
      renewedAt = now;
    }

    async function untilDue(due: Date | null): Promise<number | null> {
      return due && Math.max(0, due.getTime() - (await deps.now()).getTime());
    }

    /** Claims the deliveries that are due and have room, and starts the attempts. */
    async function fill(): Promise<{ claimed: number; blocked: boolean; nextDue: Date | null }> {
      const now = await deps.now();
      const { reserved, chosen, blocked, nextDue } = await chooseDue({
        reader,
        load,
        organisations,
        now,
        places: slots.all - own.size,
        turns,
      });
      let claimed: DeliveryRecord[] = [];
      try {
        claimed = await laneQueue.claim(lane, chosen, now, Math.max(...Object.values(claimMs)));
        if (claimed.length < chosen.length) reader.forget();
        for (const { queue } of claimed) reserved.get(queue!.receiver)!.places -= 1;
      } finally {
        for (const [receiver, { org, places }] of reserved) {
          load.free(receiver, places);
          organisations.add(org, -places);
        }
      }
      const batch = new Map<CallbackEvent, Callback>();
      for (const delivery of claimed) start(delivery, callbackOf(delivery.event_type, batch));
      return { claimed: claimed.length, blocked, nextDue };
    }

    function start(claimed: DeliveryRecord, callback: Callback): void {
      const done = deliver(claimed, callback).then(() => {
        inProgress.delete(done);
        own.delete(done);
      });
      inProgress.add(done);
      own.add(done);
    }

    async function deliver(claimed: DeliveryRecord, callback: Callback): Promise<void> {
      try {
        const attempted = await attemptInPlace(claimed, callback);
        if (await recorder.add({ claimed, ...attempted })) counts[attempted.recorded.status] += 1;
      } catch (error) {
        await releaseAfter(error, claimed);
      }
    }

    /** Makes the attempt in the place that is reserved for it, and frees the place. */
    async function attemptInPlace(claimed: DeliveryRecord, callback: Callback): Promise<Attempt> {
      const receiver = receiverOf(claimed);
      try {
        return await load.useReserved(receiver, () => attempt(claimed, callback));
      } finally {
        organisations.add(claimed.org, -1);
        freed(receiver);
        ended += 1;
        wakeUp();
      }
    }

    /** Waits until so many attempts have ended, or for so many milliseconds. */
    function attemptsEnded(count: number, ms: number): Promise<void> {
      const target = ended + count;
      return new Promise((resume) => {
        const end = () => {
          clearTimeout(timer);
          wakeUp = () => {};
          resume();
        };
        const timer = setTimeout(end, ms);
        wakeUp = () => {
          if (ended >= target) end();
        };
      });
    }
  }

  /** The callback of an event, which reads a registration once for each batch. */
  function callbackOf(event: CallbackEvent, batch: Map<CallbackEvent, Callback>): Callback {
    const known = batch.get(event);
    if (known) return known;
    const callback = deps.callbacks[event];
    const shared = callback.forBatch?.() ?? callback;
    batch.set(event, shared);
    return shared;
  }

  /** A cancelled attempt releases its claim. After any other error the claim expires, and the attempt is repeated. */
  async function releaseAfter(error: unknown, claimed: DeliveryRecord): Promise<void> {
    if (error instanceof AttemptNotSent) {
      log.warn({ err: error, delivery_id: claimed._id }, 'attempt not made');
      const due = new Date((await deps.now()).getTime() + NOT_SENT_PAUSE_MS);
      await deps.deliveries.release(claimed, due, false).catch(() => undefined);
    } else if (error instanceof AttemptCancelled) {
      stopping = true;
      await deps.deliveries.release(claimed, await deps.now()).catch(() => undefined);
      if (typeof claimed.lane === 'number') releasedIn.add(claimed.lane);
    } else {
      log.error({ err: error, delivery_id: claimed._id }, 'attempt failed');
    }
  }
}
