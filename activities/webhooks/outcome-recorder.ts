import type { Logger } from 'pino';
import type { WorkMetrics } from '../../domain/metrics.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { LaneQueue } from '../../storage/webhooks/lane-queue.js';
import type { LaneOutcome } from '../../storage/webhooks/outcome-updates.js';
import type { CallbackRequest } from './callback.js';
import type { LaneDepartures } from './lane-departures.js';
import { recordWithRetries } from './record-with-retries.js';

export interface OutcomeRecorderDependencies {
  laneQueue: Pick<LaneQueue, 'record'>;
  departures: LaneDepartures;
  metrics: Pick<WorkMetrics, 'deliveryAttempted'>;
  log: Pick<Logger, 'error' | 'info' | 'warn'>;
  now: () => Date | Promise<Date>;
}

/** An attempt at a delivery in a lane. */
export type LaneAttempt = Pick<LaneOutcome, 'claimed' | 'recorded'> & { request?: CallbackRequest };

/** Stores outcomes together. After a crash, at most the attempts of this time are repeated. */
export interface OutcomeRecorder {
  /** @returns whether the outcome was stored; false when the claim was taken over, or storage failed for too long */
  add(attempt: LaneAttempt): Promise<boolean>;
}

const MAX_BATCH = 100;
const MAX_WAIT_MS = 50;

interface Pending {
  attempt: LaneAttempt;
  done: (stored: boolean) => void;
}

export function createOutcomeRecorder(deps: OutcomeRecorderDependencies): OutcomeRecorder {
  let pending: Pending[] = [];
  let timer: NodeJS.Timeout | undefined;

  return {
    add: (attempt) =>
      new Promise((done) => {
        pending.push({ attempt, done });
        if (pending.length >= MAX_BATCH) flush();
        else timer ??= setTimeout(flush, MAX_WAIT_MS);
      }),
  };

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const batch = pending;
    pending = [];
    store(batch).catch((error) => {
      // Their claims expire, and then the attempts are repeated.
      deps.log.error({ err: error, deliveries: batch.length }, 'outcomes not stored');
      for (const { done } of batch) done(false);
    });
  }

  async function store(batch: readonly Pending[]): Promise<void> {
    const outcomes: LaneOutcome[] = [];
    for (const { claimed, recorded } of batch.map(({ attempt }) => attempt)) {
      const stays = recorded.status === 'failed' && !(await hasRoom(claimed));
      outcomes.push({ claimed, recorded, stays });
    }
    const now = await deps.now();
    const record = () => deps.laneQueue.record(outcomes, now);
    const recorded = await recordWithRetries(record, (error) =>
      deps.log.warn({ err: error, deliveries: outcomes.length }, 'outcomes not stored yet'),
    );
    const stored = new Set(recorded.map(({ claimed }) => claimed));
    const delivered: string[] = [];
    for (const { claimed, recorded, stays } of outcomes) {
      const { _id: delivery_id, attempts, lane } = claimed;
      if (!stored.has(claimed)) {
        deps.log.warn({ delivery_id, attempts, lane }, 'outcome not stored: the claim had expired');
        continue;
      }
      deps.metrics.deliveryAttempted(claimed.event_type, recorded);
      if (recorded.status === 'delivered') {
        delivered.push(delivery_id);
        continue;
      }
      deps.log.info(
        { delivery_id, state: recorded.status, attempts, lane, error: recorded.error_message },
        'delivery attempt',
      );
      if (recorded.status === 'failed' && !stays) deps.departures.leave(claimed, recorded.next_attempt_at!);
    }
    // A line for each would cost more than the write.
    if (delivered.length > 0) deps.log.info({ delivery_ids: delivered, state: 'delivered' }, 'delivery attempts');
    const known = batch.map(({ attempt }) => attempt).filter(({ claimed }) => stored.has(claimed));
    await reportAttempts(known, now).catch((error) =>
      deps.log.error({ err: error, deliveries: known.length }, 'receivers of stored outcomes not updated'),
    );
    for (const { attempt, done } of batch) done(stored.has(attempt.claimed));
  }

  /** When the count fails, the delivery may leave: a few more workflows do no harm. */
  function hasRoom(claimed: DeliveryRecord): Promise<boolean> {
    return deps.departures.hasRoom(claimed).catch((error) => {
      deps.log.warn({ err: error, delivery_id: claimed._id }, 'failed deliveries not counted');
      return true;
    });
  }
}

/** Failures in quick succession count once, so one report for each receiver is enough: a success, if there was one. */
async function reportAttempts(attempts: readonly LaneAttempt[], now: Date): Promise<void> {
  const reports = new Map<object, { request: CallbackRequest; delivered: boolean }>();
  for (const { request, recorded } of attempts) {
    if (!request?.attempted || !request.receiver) continue;
    const delivered = recorded.status === 'delivered' || reports.get(request.receiver)?.delivered === true;
    reports.set(request.receiver, { request, delivered });
  }
  for (const { request, delivered } of reports.values()) await request.attempted!(delivered, now);
}
