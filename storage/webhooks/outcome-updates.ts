import type { Document } from 'mongodb';
import { BY_ID } from '../queries.js';
import type { Update } from '../updates.js';
import {
  claimFilter,
  type DeliveryRecord,
  MAX_LOGGED_ATTEMPTS,
  outcomeUpdate,
  type RecordedAttempt,
} from './deliveries.js';

/** The outcome of an attempt at a delivery in a lane. */
export interface LaneOutcome {
  claimed: DeliveryRecord;
  recorded: RecordedAttempt;
  /** Whether the delivery, if it failed, stays in the lane. */
  stays: boolean;
}

/**
 * The updates that store the outcomes of many attempts. Deliveries of one claim that have succeeded at one URL share an
 * update, because MongoDB takes longer to read and to plan an update than to change a record by it.
 */
export function outcomeUpdates(outcomes: readonly LaneOutcome[], now: Date, retentionMs: number): Update[] {
  const groups = new Map<string, LaneOutcome[]>();
  const updates: Update[] = [];
  for (const outcome of outcomes) {
    const { claimed, recorded } = outcome;
    if (recorded.status === 'delivered' && recorded.sent) {
      const key = JSON.stringify([claimed.org, claimed.claim, recorded.url]);
      const group = groups.get(key);
      if (group) group.push(outcome);
      else groups.set(key, [outcome]);
    } else {
      updates.push(single(outcome, now, retentionMs));
    }
  }
  for (const group of groups.values()) {
    updates.push(group.length === 1 ? single(group[0]!, now, retentionMs) : deliveredTogether(group, now, retentionMs));
  }
  return updates;
}

function single({ claimed, recorded, stays }: LaneOutcome, now: Date, retentionMs: number): Update {
  return { q: claimFilter(claimed), u: outcomeUpdate(claimed, recorded, now, retentionMs, stays), ...BY_ID };
}

/** @param group deliveries of one claim that were delivered to one URL */
function deliveredTogether(group: readonly LaneOutcome[], now: Date, retentionMs: number): Update {
  const ids = group.map(({ claimed }) => claimed._id);
  const { claimed, recorded } = group[0]!;
  // Each in a list of its own, as the log takes it.
  const entries = group.map(({ recorded: { entry } }) => [entry]);
  const entry: Document = { $arrayElemAt: [{ $literal: entries }, { $indexOfArray: [{ $literal: ids }, '$_id'] }] };
  const { $set } = outcomeUpdate(claimed, recorded, now, retentionMs);
  return {
    q: { ...claimFilter(claimed), _id: { $in: ids } },
    u: [
      {
        $set: {
          ...$set,
          // Others of the claim may have had other values.
          automatic_attempt_at: null,
          error_code: null,
          error_message: null,
          url: { $literal: recorded.url },
          queue: '$$REMOVE',
          attempt_log: { $slice: [{ $concatArrays: ['$attempt_log', entry] }, -MAX_LOGGED_ATTEMPTS] },
        },
      },
    ],
    multi: true,
    ...BY_ID,
  };
}
