import type { Logger } from 'pino';
import type { WorkMetrics } from '../../domain/metrics.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { DeliveryQueue } from '../../storage/webhooks/delivery-queue.js';
import type { Outcome } from '../../storage/webhooks/outcome-updates.js';
import type { Attempt } from './attempt.js';
import type { CallbackRequest } from './callback.js';
import type { FailedDeliveryHandoff } from './failed-delivery-handoff.js';
import type { FailureNotices } from './operator-callback.js';

export interface OutcomeRecorderDependencies {
  deliveryQueue: Pick<DeliveryQueue, 'record'>;
  handoff: FailedDeliveryHandoff;
  notices: Pick<FailureNotices, 'deliveriesFailed'>;
  metrics: Pick<WorkMetrics, 'deliveryAttempted'>;
  log: Pick<Logger, 'error' | 'info' | 'warn'>;
  now: () => Date | Promise<Date>;
  /** Whether attempts are in progress whose outcomes can be stored with those that wait. */
  expectsMore: () => boolean;
}

/** An attempt at a claimed delivery, and its outcome. */
export type RecordableAttempt = Attempt & { claimed: DeliveryRecord };

const MAX_BATCH = 100;
const MAX_WAIT_MS = 50;
/** Pauses before a write that failed is repeated. With the driver's own wait for a primary they outlive an election. */
const RETRY_PAUSES_MS = [100, 400, 1_000, 2_000];

interface Pending {
  attempt: RecordableAttempt;
  done: (stored: Outcome | null) => void;
}

/** Stores outcomes together. After a crash, at most the attempts of this time are repeated. */
export function createOutcomeRecorder(deps: OutcomeRecorderDependencies) {
  let pending: Pending[] = [];
  let timer: NodeJS.Timeout | undefined;

  return {
    /** @returns what was stored; null when the claim was taken over, or storage failed for too long */
    add: (attempt: RecordableAttempt): Promise<Outcome | null> =>
      new Promise((done) => {
        pending.push({ attempt, done });
        if (pending.length >= MAX_BATCH || !deps.expectsMore()) flush();
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
      for (const { done } of batch) done(null);
    });
  }

  async function store(batch: readonly Pending[]): Promise<void> {
    const outcomes: Outcome[] = [];
    for (const { claimed, recorded } of batch.map(({ attempt }) => attempt)) {
      outcomes.push({ claimed, recorded, has_workflow: await deps.handoff.hasWorkflow(claimed, recorded.status) });
    }
    const now = await deps.now();
    const stored = new Set(await recordWithRetries(outcomes, now));
    const delivered: string[] = [];
    for (const outcome of outcomes) {
      const { claimed, recorded } = outcome;
      const { _id: delivery_id, attempts } = claimed;
      if (!stored.has(outcome)) {
        deps.log.warn({ delivery_id, attempts }, 'outcome not stored: the claim had expired');
        continue;
      }
      deps.metrics.deliveryAttempted(claimed.event_type, recorded);
      if (recorded.status === 'delivered') {
        delivered.push(delivery_id);
        continue;
      }
      deps.log.info(
        { delivery_id, state: recorded.status, attempts, error: recorded.error_message },
        'delivery attempt',
      );
      deps.handoff.handOver(outcome);
    }
    // A line for each would cost more than the write.
    if (delivered.length > 0) deps.log.info({ delivery_ids: delivered, state: 'delivered' }, 'delivery attempts');
    await deps.notices.deliveriesFailed([...stored], now);
    const known = batch.map(({ attempt }) => attempt).filter((_, n) => stored.has(outcomes[n]!));
    await reportAttempts(known, now).catch((error) =>
      deps.log.error({ err: error, deliveries: known.length }, 'receivers of stored outcomes not updated'),
    );
    for (const [n, { done }] of batch.entries()) done(stored.has(outcomes[n]!) ? outcomes[n]! : null);
  }

  /** Repeats a write that failed: the callbacks have been sent, and without their outcomes they would be sent again. */
  async function recordWithRetries(outcomes: readonly Outcome[], now: Date): Promise<Outcome[]> {
    for (const pause of RETRY_PAUSES_MS) {
      try {
        return await deps.deliveryQueue.record(outcomes, now);
      } catch (error) {
        deps.log.warn({ err: error, deliveries: outcomes.length }, 'outcomes not stored yet');
        await new Promise((resume) => setTimeout(resume, pause));
      }
    }
    return recordEach(outcomes, now);
  }

  /** An outcome that cannot be stored must not hold back the others: its claim expires, and the attempt is repeated. */
  async function recordEach(outcomes: readonly Outcome[], now: Date): Promise<Outcome[]> {
    const stored: Outcome[] = [];
    for (const outcome of outcomes) {
      try {
        stored.push(...(await deps.deliveryQueue.record([outcome], now)));
      } catch (error) {
        deps.log.error({ err: error, delivery_id: outcome.claimed._id }, 'outcome not stored');
      }
    }
    return stored;
  }
}

/** Failures in quick succession count once, so one report for each receiver is enough: a success, if there was one. */
async function reportAttempts(attempts: readonly RecordableAttempt[], now: Date): Promise<void> {
  const reports = new Map<object, { request: CallbackRequest; delivered: boolean }>();
  for (const { request, recorded } of attempts) {
    if (!request?.attempted) continue;
    const receiver = request.receiver ?? request;
    const delivered = recorded.status === 'delivered' || reports.get(receiver)?.delivered === true;
    reports.set(receiver, { request, delivered });
  }
  for (const { request, delivered } of reports.values()) await request.attempted!(delivered, now);
}
