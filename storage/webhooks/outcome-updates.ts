import type { Document, UpdateFilter } from 'mongodb';
import type { DeliveryState } from '../../domain/webhooks/states.js';
import type { Update } from '../bulk-update.js';
import { BY_ID } from '../queries.js';
import { type AttemptEntry, type DeliveryRecord, isExtraAttempt } from './deliveries.js';

/** The result of one attempt, and the next state of its delivery. */
export interface RecordedAttempt {
  status: Extract<DeliveryState, 'delivered' | 'failed' | 'permanently_failed'>;
  /** Whether a request was sent. */
  sent: boolean;
  entry: AttemptEntry;
  url: string | null;
  next_attempt_at: Date | null;
  error_code: string | null;
  error_message: string | null;
}

/** The outcome of an attempt at a claimed delivery. */
export interface Outcome {
  claimed: DeliveryRecord;
  recorded: RecordedAttempt;
  /** Whether the delivery has a workflow from now on. */
  has_workflow: boolean;
}

/** Maximum length of the attempt log; manual retries are not limited. */
const MAX_LOGGED_ATTEMPTS = 50;

/** Matches while the claim is valid: no other process has claimed the delivery since. */
export const claimFilter = ({ _id, org, claim }: DeliveryRecord) => ({
  _id,
  org,
  status: 'sweeping' as const,
  claim: claim!,
});

/**
 * The updates that store the outcomes of many attempts. Deliveries of one claim that have succeeded at one URL share an
 * update, because MongoDB takes longer to read and to plan an update than to change a record by it.
 * @param retentionMs how long a finished delivery is kept
 */
export function outcomeUpdates(outcomes: readonly Outcome[], now: Date, retentionMs: number): Update[] {
  const groups = Map.groupBy<unknown, Outcome>(outcomes, (outcome) => {
    const { claimed, recorded } = outcome;
    const isShared = recorded.status === 'delivered' && recorded.sent;
    return isShared ? JSON.stringify([claimed.org, claimed.claim, recorded.url]) : outcome;
  });
  return [...groups.values()].map((group) =>
    group.length === 1 ? single(group[0]!, now, retentionMs) : deliveredTogether(group, now, retentionMs),
  );
}

function single(outcome: Outcome, now: Date, retentionMs: number): Update {
  return { q: claimFilter(outcome.claimed), u: outcomeUpdate(outcome, now, retentionMs), ...BY_ID };
}

/** sweeping -> delivered | failed | permanently_failed. */
export function outcomeUpdate(
  { claimed, recorded, has_workflow }: Outcome,
  now: Date,
  retentionMs: number,
): UpdateFilter<DeliveryRecord> {
  const { status, sent, next_attempt_at, entry } = recorded;
  const failures = status === 'delivered' || isExtraAttempt(claimed) ? 0 : 1;
  const changed: Partial<DeliveryRecord> = {
    automatic_attempt_at: null,
    url: recorded.url,
    error_code: recorded.error_code,
    error_message: recorded.error_message,
    has_workflow,
    check_at: checkAt(status, has_workflow, next_attempt_at ?? now),
  };
  return {
    $set: {
      status,
      next_attempt_at,
      expires_at: next_attempt_at === null ? new Date(now.getTime() + retentionMs) : null,
      // MongoDB parses and compares each field, and the holder of the claim knows which of them are different.
      ...Object.fromEntries(
        Object.entries(changed).filter(([name, value]) => (claimed[name as keyof DeliveryRecord] ?? null) !== value),
      ),
      updated_at: now,
    },
    ...(failures === 0 && sent ? {} : { $inc: { failures, attempts: sent ? 0 : -1 } }),
    $push: { attempt_log: { $each: [entry], $slice: -MAX_LOGGED_ATTEMPTS } },
  };
}

/** A workflow that must still run, or must still show that its delivery has failed permanently, is checked. */
function checkAt(status: DeliveryState, has_workflow: boolean, at: Date): Date | null {
  return has_workflow && status !== 'delivered' ? at : null;
}

/** @param group deliveries of one claim that were delivered to one URL */
function deliveredTogether(group: readonly Outcome[], now: Date, retentionMs: number): Update {
  const ids = group.map(({ claimed }) => claimed._id);
  const { claimed, recorded } = group[0]!;
  // Each in a list of its own, as the log takes it.
  const entries = group.map(({ recorded: { entry } }) => [entry]);
  const entry: Document = { $arrayElemAt: [{ $literal: entries }, { $indexOfArray: [{ $literal: ids }, '$_id'] }] };
  return {
    q: { ...claimFilter(claimed), _id: { $in: ids } },
    u: [
      {
        $set: {
          status: 'delivered',
          next_attempt_at: null,
          expires_at: new Date(now.getTime() + retentionMs),
          automatic_attempt_at: null,
          error_code: null,
          error_message: null,
          url: { $literal: recorded.url },
          check_at: null,
          updated_at: now,
          attempt_log: { $slice: [{ $concatArrays: ['$attempt_log', entry] }, -MAX_LOGGED_ATTEMPTS] },
        },
      },
    ],
    multi: true,
    ...BY_ID,
  };
}
