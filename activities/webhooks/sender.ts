import { setTimeout as wait } from 'node:timers/promises';
import type { CallbackEvent } from '../../domain/webhooks/events.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { DeliveryQueue } from '../../storage/webhooks/delivery-queue.js';
import type { Outcome } from '../../storage/webhooks/outcome-updates.js';
import { AttemptCancelled, type AttemptDependencies, AttemptNotSent, createAttempt } from './attempt.js';
import { createAttemptsInProgress } from './attempts-in-progress.js';
import type { Callback } from './callback.js';
import { chooseDue, freeAll, noTurns, type Reservations } from './choose-due.js';
import { createDueDeliveries } from './due-deliveries.js';
import { createFailedDeliveryHandoff, type HandoffDependencies } from './failed-delivery-handoff.js';
import { createOutcomeRecorder, type OutcomeRecorderDependencies } from './outcome-recorder.js';
import type { ReceiverRates } from './receiver-rates.js';
import { createSenderLoad } from './sender-load.js';

export interface SenderDependencies
  extends AttemptDependencies,
    HandoffDependencies,
    Pick<OutcomeRecorderDependencies, 'metrics' | 'notices'> {
  deliveryQueue: Pick<DeliveryQueue, 'claim' | 'heads' | 'listDue' | 'read' | 'record' | 'release'>;
  callbacks: Record<CallbackEvent, Callback>;
  receiverRates: ReceiverRates;
  /** Attempts that this process can have in progress. */
  places: number;
}

/** What the sender answers when it is asked for a delivery. */
export interface Answer {
  /** The attempt that is in progress now; null in it: its outcome could not be stored. */
  outcome?: Promise<Outcome | null>;
  /** The delivery as it was read, when no attempt is in progress; null when there is none. */
  record: DeliveryRecord | null;
  /** Whether an attempt at the receiver took long recently. */
  isSlow: boolean;
}

export type Sender = ReturnType<typeof createSender>;

/** How long a claim outlives the time limit of its attempt, so that the outcome can be recorded. */
const CLAIM_MARGIN_MS = 8_000;
/** Attempts that end before the sender claims again, unless `REFILL_MS` passes first. */
const REFILL_BATCH = 25;
const REFILL_MS = 25;
/** Pause after a claim of all that was due, so that few deliveries do not cost a claim each. */
const GATHER_MS = 20;
/** Pauses between looks at a queue in which nothing is due; each is twice as long as the pause before. */
const MIN_PAUSE_MS = 10;
const MAX_PAUSE_MS = 250;
/** Longest pause after an error, such as a database that elects a new primary. */
const ERROR_PAUSE_MS = 1_000;
/** Until a delivery whose attempt was not made, or was cancelled, is due again. */
const AGAIN_MS = 1_000;

/**
 * Makes all attempts at all callbacks: claims as many deliveries as their receivers have room for, attempts them side by side,
 * stores the outcomes together, and claims again as soon as places are free, so that no receiver waits for another. It looks in the
 * queue of MongoDB by itself, so what is due is sent whatever Temporal does; workflows ask for their delivery, so that it does not
 * wait for the next look.
 */
export function createSender(deps: SenderDependencies) {
  const { deliveryQueue: queue, log, places } = deps;
  const attempt = createAttempt(deps);
  const handoff = createFailedDeliveryHandoff(deps);
  const due = createDueDeliveries(queue);
  const load = createSenderLoad(places, undefined, deps.receiverRates.of);
  const turns = noTurns();
  const claimMs = Math.max(...Object.values(deps.callbacks).map(({ policy }) => policy.timeoutMs)) + CLAIM_MARGIN_MS;
  const attempts = createAttemptsInProgress();
  const recorder = createOutcomeRecorder({ ...deps, handoff, expectsMore: () => attempts.sending > 0 });
  /** Deliveries that were asked for since the last round. */
  let asked: Asked[] = [];
  let isStopping = false;
  let loop: Promise<void> | undefined;

  return {
    /** Begins to send what is due. */
    start(): void {
      loop ??= run();
    },
    /**
     * Asks for an attempt at a delivery now, if it is due and its receiver has room. Without being asked the sender finds the delivery
     * a moment later.
     * @throws when the queue cannot be read, or the sender stops
     */
    ask(delivery: string): Promise<Answer> {
      if (isStopping) return Promise.reject(new SenderStopped());
      return new Promise((resolve, reject) => {
        asked.push({ delivery, resolve, reject });
        attempts.wake();
      });
    },
    /** Starts no more attempts. Resolves when all in progress are recorded. */
    async stop(): Promise<void> {
      isStopping = true;
      attempts.wake();
      await loop;
      for (const { reject } of asked) reject(new SenderStopped());
      await attempts.settled();
      await handoff.settled();
    },
  };

  async function run(): Promise<void> {
    let pause = MIN_PAUSE_MS;
    while (!isStopping) {
      try {
        const { started, blocked } = await round();
        if (started > 0) pause = MIN_PAUSE_MS;
        if (started > 0 && blocked) await attempts.untilEnded(Math.min(REFILL_BATCH, attempts.sending), REFILL_MS);
        else if (started > 0) await attempts.untilEnded(Number.POSITIVE_INFINITY, GATHER_MS);
        else await attempts.untilEnded(1, pause);
        pause = Math.min(2 * pause, MAX_PAUSE_MS);
      } catch (error) {
        log.warn({ err: error }, 'the queue of deliveries was not read; it is read again');
        await wait(ERROR_PAUSE_MS * (0.5 + deps.random() / 2));
      }
    }
  }

  /** Claims the deliveries that are due and have room, and starts the attempts. */
  async function round(): Promise<{ started: number; blocked: boolean }> {
    const requests = asked;
    asked = [];
    try {
      await deps.receiverRates.refresh();
      const now = await deps.now();
      const requested = await startAsked(requests, now);
      const free = places - attempts.sending;
      const { chosen, reserved, blocked } = await chooseDue({ due, load, now, places: free, turns });
      const others = chosen.filter(({ _id }) => !attempts.outcomeOf(_id));
      const started = await claimAndStart(others, reserved, now);
      return { started: requested + started, blocked };
    } catch (error) {
      for (const { reject } of requests) reject(error);
      throw error;
    }
  }

  /** Starts attempts at the deliveries that were asked for, and answers. @returns how many were started */
  async function startAsked(requests: readonly Asked[], now: Date): Promise<number> {
    const unknown = requests.filter(({ delivery }) => !attempts.outcomeOf(delivery));
    const read = await queue.read(unknown.map(({ delivery }) => delivery));
    const records = new Map(read.map((each) => [each._id, each]));
    const reserved: Reservations = new Map();
    const startable = read.filter(({ org, receiver, next_attempt_at }) => {
      if (next_attempt_at === null || next_attempt_at > now || load.reserve(org, receiver, 1) === 0) return false;
      reserved.set(receiver, { org, places: (reserved.get(receiver)?.places ?? 0) + 1 });
      return true;
    });
    const started = await claimAndStart(startable, reserved, now);
    for (const { delivery, resolve } of requests) {
      const record = records.get(delivery) ?? null;
      const outcome = attempts.outcomeOf(delivery);
      resolve({ record, isSlow: record !== null && load.isSlow(record.receiver), ...(outcome ? { outcome } : {}) });
    }
    return started;
  }

  /** @param reserved places for these deliveries, and more. All are used or freed. @returns how many were started */
  async function claimAndStart(read: readonly DeliveryRecord[], reserved: Reservations, now: Date): Promise<number> {
    let claimed: DeliveryRecord[] = [];
    try {
      claimed = await queue.claim(read, now, claimMs);
      if (claimed.length < read.length) due.forget();
      for (const { receiver } of claimed) reserved.get(receiver)!.places -= 1;
    } finally {
      freeAll(load, reserved);
    }
    const batch = new Map<CallbackEvent, Callback>();
    for (const delivery of claimed) start(delivery, batch);
    return claimed.length;
  }

  function start(claimed: DeliveryRecord, batch: Map<CallbackEvent, Callback>): void {
    const { _id, org, receiver } = claimed;
    const sent = load.use(org, receiver, async () => attempt(claimed, callbackOf(claimed.event_type, batch)));
    attempts.add(_id, sent, async (result) =>
      result.status === 'fulfilled' ? recorder.add({ claimed, ...result.value }) : releaseAfter(result.reason, claimed),
    );
  }

  /** The callback of an event, which reads a registration once for each batch. */
  function callbackOf(event: CallbackEvent, batch: Map<CallbackEvent, Callback>): Callback {
    const known = batch.get(event);
    if (known) return known;
    const callback = deps.callbacks[event];
    // A worker of a later release has accepted it.
    if (!callback) throw new AttemptNotSent(`the event ${event} is not known`);
    const shared = callback.forBatch?.() ?? callback;
    batch.set(event, shared);
    return shared;
  }

  /** A delivery whose outcome is not known can be claimed again. After an unexpected error its claim expires. */
  async function releaseAfter(error: unknown, claimed: DeliveryRecord): Promise<null> {
    const isSent = !(error instanceof AttemptNotSent);
    if (isSent && !(error instanceof AttemptCancelled)) {
      log.error({ err: error, delivery_id: claimed._id }, 'attempt failed');
      return null;
    }
    if (!isStopping) log.warn({ err: error, delivery_id: claimed._id }, 'attempt not made');
    const again = new Date((await deps.now()).getTime() + (isStopping ? 0 : AGAIN_MS));
    await queue
      .release(claimed, again, isSent)
      .catch((err) => log.warn({ err, delivery_id: claimed._id }, 'claim not released; it expires'));
    return null;
  }
}

interface Asked {
  delivery: string;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
}

/** The process stops, so another must be asked. */
export class SenderStopped extends Error {
  override name = 'SenderStopped';
}
