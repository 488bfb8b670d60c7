import type { Collection, Document } from 'mongodb';
import { UNFINISHED_JOB_STATUSES } from '../domain/ai-jobs/states.js';
import { UNFINISHED_INDEXING_STATUSES } from '../domain/content/states.js';
import { UNFINISHED_EXECUTION_STATUSES } from '../domain/crews/states.js';
import { timeOfId } from '../domain/ids.js';
import { type Backlog, MAX_COUNTED, type Waiting } from '../domain/metrics.js';
import { OPEN_AUTHENTICATION_STATES } from '../domain/payments/states.js';
import { UNFINISHED_DELIVERY_STATES } from '../domain/webhooks/states.js';
import type { Collections } from './collections.js';
import { QUEUED } from './webhooks/delivery-queue.js';

/** A count that takes longer fails: metrics must not slow down the work that they measure. */
const MAX_TIME_MS = 2_000;

const options = (hint: string | Document) => ({ hint, maxTimeMS: MAX_TIME_MS });

/**
 * Reads how much work of all organisations is not finished. Each count reads an index that holds unfinished records only,
 * and at most `MAX_COUNTED` of them.
 * @returns a function that throws when a count takes too long
 */
export function createBacklogReader(collections: Collections): (now: Date) => Promise<Backlog> {
  const { items, deliveries, aiJobs, crewExecutions, authentications } = collections;
  return async (now) => {
    const due = { $and: [{ $ne: ['$status', 'sweeping'] }, { $lte: ['$next_attempt_at', now] }] };
    const [itemGroups, rowsDue, deliveryGroups, jobs, crews, open] = await Promise.all([
      countByState(items, 'indexing_status', UNFINISHED_INDEXING_STATUSES, {
        oldest: { $min: '$batch' },
      }),
      items.countDocuments({ rows_due: { $gt: '' } }, { ...options('rows_due'), limit: MAX_COUNTED }),
      countByState(
        deliveries,
        'status',
        UNFINISHED_DELIVERY_STATES,
        {
          oldest: { $min: '$created_at' },
          due: { $sum: { $cond: [due, 1, 0] } },
          since: { $min: { $cond: [due, '$next_attempt_at', null] } },
        },
        { match: QUEUED, index: 'queue' },
      ),
      countByState(aiJobs, 'status', UNFINISHED_JOB_STATUSES, { oldest: { $min: '$created_at' } }),
      countByState(crewExecutions, 'status', UNFINISHED_EXECUTION_STATUSES, {
        oldest: { $min: '$created_at' },
        since: { $min: '$waiting_since' },
      }),
      countByState(authentications, 'status', OPEN_AUTHENTICATION_STATES, { oldest: { $min: '$created_at' } }),
    ]);
    return {
      items: waiting(itemGroups),
      rowsDue,
      deliveries: waiting(deliveryGroups),
      deliveriesDue: {
        count: deliveryGroups.reduce((sum, group) => sum + group.due, 0),
        since: earliest(deliveryGroups.map(({ since }) => since)),
      },
      jobs: waiting(jobs),
      crews: waiting(crews),
      crewsWaitingSince: earliest(crews.map(({ since }) => since)),
      authentications: waiting(open),
    };
  };
}

/** The records of one state; `oldest` is a time, or an id that has one. */
interface Group extends Document {
  _id: string;
  count: number;
  oldest: Date | string | null;
}

/** @param states those of the partial index that holds unfinished records */
function countByState<Schema extends Document>(
  collection: Collection<Schema>,
  field: string,
  states: readonly string[],
  sums: Document,
  { match, index }: { match: Document; index: string } = { match: {}, index: 'to_check' },
): Promise<Group[]> {
  const stages = [
    { $match: { [field]: { $in: states }, ...match } },
    { $limit: MAX_COUNTED },
    { $group: { _id: `$${field}`, count: { $sum: 1 }, ...sums } },
  ];
  return collection.aggregate<Group>(stages, options(index)).toArray();
}

function waiting(groups: readonly Group[]): Waiting {
  return {
    counts: Object.fromEntries(groups.map(({ _id, count }) => [_id, count])),
    oldest: earliest(groups.map(({ oldest }) => (typeof oldest === 'string' ? timeOfId(oldest) : oldest))),
  };
}

function earliest(times: readonly (Date | null | undefined)[]): Date | null {
  const known = times.flatMap((time) => (time ? [time.getTime()] : []));
  return known.length === 0 ? null : new Date(Math.min(...known));
}
