import type { Collection } from 'mongodb';
import { FLAG_LASTS_MS, type LaneFlags } from '../../domain/webhooks/lanes.js';
import type { StaleRecords } from '../queries.js';
import type { LaneQueue } from './lane-queue.js';

/** Whether a lane of deliveries runs. */
export interface LaneRecord {
  _id: number;
  /** Until when the lane is known to run, on the server's clock; renewed while it runs. */
  awake_until?: Date | null;
  /** Whether it ran when its flag was raised last. */
  was_awake?: boolean;
  /** When the reconciler started it last. */
  check_at?: Date;
}

/** A lane with overdue deliveries. */
export interface StaleLane {
  lane: number;
}

export type Lanes = ReturnType<typeof createLanes>;

/** The flags of lanes, and the lanes that the reconciler must start. */
export function createLanes({ lanes }: { lanes: Collection<LaneRecord> }, queue: LaneQueue) {
  const isAwake = { $gt: ['$awake_until', '$$NOW'] };
  const fromNow = { $add: ['$$NOW', FLAG_LASTS_MS] };
  const flags: LaneFlags = {
    async raise(lane) {
      // A flag that is up is not renewed: only the lane knows that it runs.
      const awake_until = { $cond: [isAwake, '$awake_until', fromNow] };
      const record = await lanes.findOneAndUpdate({ _id: lane }, [{ $set: { was_awake: isAwake, awake_until } }], {
        upsert: true,
        returnDocument: 'after',
      });
      return record?.was_awake === true;
    },
    async renew(lane) {
      await lanes.updateOne({ _id: lane }, [{ $set: { awake_until: fromNow } }], { upsert: true });
    },
    async lower(lane) {
      await lanes.updateOne({ _id: lane }, { $set: { awake_until: null } });
    },
  };
  const setCheckAt = async (stale: readonly StaleLane[], check_at: Date) => {
    for (const { lane } of stale) {
      await lanes.updateOne({ _id: lane }, { $set: { check_at } }, { upsert: true });
    }
  };

  /** Lanes whose deliveries have been due for a while. Starting a lane that runs does nothing. */
  const stale: StaleRecords<StaleLane> = {
    async list(before, limit) {
      const checked = new Set(await lanes.distinct('_id', { check_at: { $gte: before } }));
      const found: StaleLane[] = [];
      for (const lane of await queue.listLanes()) {
        if (found.length === limit) break;
        if (!checked.has(lane) && (await queue.isOverdue(lane, before))) found.push({ lane });
      }
      return found;
    },
    // A lane that was lost again must not wait long, because it has many deliveries.
    markStarted: (entries) => setCheckAt(entries, new Date()),
    markFailed: (entries, _before, now) => setCheckAt(entries, now),
  };
  return { flags, stale };
}
