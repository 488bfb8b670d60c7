import type { Document } from 'mongodb';
import { AI_FEATURE_NAMES } from '../domain/ai-jobs/features.js';
import { JOB_STATUS_TABLE, JOB_STATUSES, type JobStatus } from '../domain/ai-jobs/states.js';
import { INDEXING_STATUSES, type IndexingStatus } from '../domain/content/states.js';
import { lowestDeliveryId } from '../domain/ids.js';
import { MAX_COUNTED } from '../domain/metrics.js';
import { isFinalState } from '../domain/state-machine.js';
import { CALLBACK_EVENTS } from '../domain/webhooks/events.js';
import { DELIVERY_STATES, type DeliveryState } from '../domain/webhooks/states.js';
import type { Access } from './collections.js';
import { JOB_LIST_INDEX, LIST_INDEX } from './indexes.js';

/** Deliveries that one measurement reads; the newest count. */
const MAX_DELIVERIES = 20_000;

/** Attempts in one interval. */
export interface AttemptInterval {
  /** The start of the interval. */
  at: Date;
  succeeded: number;
  failed: number;
  /** Milliseconds. */
  p50_ms: number;
  p95_ms: number;
}

export interface ActivityPeriod {
  from: Date;
  to: Date;
  intervalMs: number;
}

export type Activity = ReturnType<typeof createActivity>;

/** What an organisation's items, jobs and webhooks have done lately. Counts only. */
export function createActivity(collections: Access<'aiJobs' | 'databases' | 'deliveries' | 'items'>) {
  const { aiJobs, databases, deliveries, items } = collections;

  return {
    /** All items of the organisation, by the status of their newest version. Read from an index alone, up to a bound. */
    async itemsByStatus(org: string): Promise<StatusCounts<IndexingStatus>> {
      const owned = await databases.forOrg(org).find({}).project<{ _id: string }>({ _id: 1 }).toArray();
      const database_id = { $in: owned.map(({ _id }) => _id) };
      return countEach(INDEXING_STATUSES, (indexing_status, limit) =>
        items.forOrg(org).countDocuments({ database_id, indexing_status }, { limit, hint: LIST_INDEX }),
      );
    },

    /** Jobs that were submitted in the period, and those that are unfinished. Read from an index alone, up to a bound. */
    async jobsByStatus(org: string, { from }: ActivityPeriod): Promise<StatusCounts<JobStatus>> {
      // With the feature, each count starts in the index where the period starts.
      const submitted = { feature: { $in: [...AI_FEATURE_NAMES] }, created_at: { $gte: from } };
      return countEach(JOB_STATUSES, (status, limit) => {
        const filter = { status, ...(isFinalState(JOB_STATUS_TABLE, status) ? submitted : {}) };
        return aiJobs.forOrg(org).countDocuments(filter, { limit, hint: JOB_LIST_INDEX });
      });
    },

    /** Deliveries that were created in the period, and the attempts at them. */
    async deliveries(
      org: string,
      { from, to, intervalMs }: ActivityPeriod,
    ): Promise<{ by_status: Partial<Record<DeliveryState, number>>; attempts: AttemptInterval[]; truncated: boolean }> {
      const newest: Document[] = [
        {
          $match: {
            event_type: { $in: [...CALLBACK_EVENTS] },
            // Each status: the index is sorted by it.
            status: { $in: DELIVERY_STATES },
            _id: { $gte: lowestDeliveryId(from.getTime()) },
          },
        },
        { $sort: { _id: -1 } },
        { $limit: MAX_DELIVERIES },
      ];
      const succeeded = { $and: [{ $gte: ['$status_code', 200] }, { $lt: ['$status_code', 300] }] };
      const attempts: Document[] = [
        { $unwind: '$attempt_log' },
        { $replaceRoot: { newRoot: '$attempt_log' } },
        { $match: { at: { $gte: from, $lt: to } } },
        {
          $group: {
            _id: {
              interval: { $floor: { $divide: [{ $subtract: ['$at', from] }, intervalMs] } },
              // Ten sizes per power of ten. MongoDB has `$percentile` only since version 7.
              size: { $floor: { $multiply: [10, { $log10: { $max: ['$duration_ms', 1] } }] } },
            },
            succeeded: { $sum: { $cond: [succeeded, 1, 0] } },
            failed: { $sum: { $cond: [succeeded, 0, 1] } },
            longest_ms: { $max: '$duration_ms' },
          },
        },
        { $sort: { '_id.interval': 1, '_id.size': 1 } },
      ];
      const [found] = await deliveries
        .forOrg(org)
        .aggregate<{ by_status: Count[]; attempts: AttemptGroup[] }>([
          ...newest,
          {
            $project: {
              _id: 0,
              status: 1,
              'attempt_log.at': 1,
              'attempt_log.status_code': 1,
              'attempt_log.duration_ms': 1,
            },
          },
          { $facet: { by_status: [countBy('$status')], attempts } },
        ])
        .toArray();
      return {
        by_status: counts(found!.by_status),
        attempts: [...Map.groupBy(found!.attempts, ({ _id }) => _id.interval)].map(([interval, groups]) => ({
          at: new Date(from.getTime() + interval * intervalMs),
          succeeded: groups.reduce((sum, { succeeded }) => sum + succeeded, 0),
          failed: groups.reduce((sum, { failed }) => sum + failed, 0),
          p50_ms: percentile(groups, 0.5),
          p95_ms: percentile(groups, 0.95),
        })),
        truncated: found!.by_status.reduce((sum, { count }) => sum + count, 0) === MAX_DELIVERIES,
      };
    },
  };
}

interface Count {
  _id: string;
  count: number;
}

/** Attempts in one interval that took about as long. */
interface AttemptGroup {
  _id: { interval: number; size: number };
  succeeded: number;
  failed: number;
  longest_ms: number;
}

/** @param groups of one interval, the shortest first. @returns milliseconds: of the longest attempt of the group that holds it */
function percentile(groups: readonly AttemptGroup[], share: number): number {
  const sizes = groups.map(({ succeeded, failed }) => succeeded + failed);
  const place = share * sizes.reduce((sum, size) => sum + size, 0);
  let below = 0;
  const at = sizes.findIndex((size) => {
    below += size;
    return below >= place;
  });
  return groups[at]!.longest_ms;
}

/** Counts up to a bound. */
export interface StatusCounts<Status extends string> {
  by_status: Partial<Record<Status, number>>;
  /** Whether a count stopped at the bound. */
  truncated: boolean;
}

/** @param count of the records with a status, which need not count further than the limit */
async function countEach<Status extends string>(
  statuses: readonly Status[],
  count: (status: Status, limit: number) => Promise<number>,
): Promise<StatusCounts<Status>> {
  const found = await Promise.all(statuses.map(async (status) => [status, await count(status, MAX_COUNTED)] as const));
  const some = found.filter(([, number]) => number > 0);
  return {
    by_status: Object.fromEntries(some) as Partial<Record<Status, number>>,
    truncated: some.some(([, number]) => number === MAX_COUNTED),
  };
}

function countBy(field: string): Document {
  return { $group: { _id: field, count: { $sum: 1 } } };
}

function counts<Name extends string>(found: readonly Count[]): Partial<Record<Name, number>> {
  return Object.fromEntries(found.map(({ _id, count }) => [_id, count])) as Partial<Record<Name, number>>;
}
