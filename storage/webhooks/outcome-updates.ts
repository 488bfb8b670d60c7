import type { Document } from 'mongodb';
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
  const expires_at = new Date(now.getTime() + retentionMs);
  const isDelivered = ({ recorded }: Outcome) => recorded.status === 'delivered';
  const delivered = Map.groupBy(outcomes.filter(isDelivered), ({ claimed, recorded }) =>
    JSON.stringify([claimed.org, claimed.claim, recorded.url]),
  );
  return [
    ...[...delivered.values()].map((group) => deliveredTogether(group, now, expires_at)),
    ...outcomes.filter((outcome) => !isDelivered(outcome)).map((outcome) => notDelivered(outcome, now, expires_at)),
  ];
}

/** sweeping -> failed | permanently_failed. */
function notDelivered({ claimed, recorded, has_workflow }: Outcome, now: Date, expires_at: Date): Update {
  const { status, url, next_attempt_at, error_code, error_message, sent, entry } = recorded;
  return {
    q: claimFilter(claimed),
    u: {
      $set: {
        status,
        url,
        next_attempt_at,
        error_code,
        error_message,
        has_workflow,
        automatic_attempt_at: null,
        // A workflow that must still run, or must still show that its delivery has failed permanently, is checked.
        check_at: has_workflow ? (next_attempt_at ?? now) : null,
        expires_at: next_attempt_at === null ? expires_at : null,
        updated_at: now,
      },
      $inc: { failures: isExtraAttempt(claimed) ? 0 : 1, attempts: sent ? 0 : -1 },
      $push: { attempt_log: { $each: [entry], $slice: -MAX_LOGGED_ATTEMPTS } },
    },
    ...BY_ID,
  };
}

/** sweeping -> delivered. @param group deliveries of one claim that were delivered to one URL */
function deliveredTogether(group: readonly Outcome[], now: Date, expires_at: Date): Update {
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
          expires_at,
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
