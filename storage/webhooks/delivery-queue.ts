import { randomBytes } from 'node:crypto';
import type { Collection, Db, Document, Filter } from 'mongodb';
import { DAY_MS } from '../../domain/webhooks/delivery-policy.js';
import type { DeliveryState } from '../../domain/webhooks/states.js';
import { createBulkUpdate } from '../bulk-update.js';
import { QUEUE_INDEX } from '../indexes.js';
import { BY_ID } from '../queries.js';
import { type DeliveryRecord, isExtraAttempt } from './deliveries.js';
import { claimFilter, type Outcome, outcomeUpdates } from './outcome-updates.js';

export type DeliveryQueue = ReturnType<typeof createDeliveryQueue>;

/** The first delivery of a receiver in the queue. */
export interface QueueHead {
  receiver: string;
  /** A receiver belongs to one organisation. */
  org: string;
  /** Id of the delivery that can be claimed first. */
  delivery: string;
  /** When it can be claimed. */
  due: Date;
}

/** Matches the records of the partial index of the queue: every unfinished delivery. */
export const QUEUED = { receiver: { $gt: '' }, next_attempt_at: { $gt: new Date(0) } } as const;

/** A claim for more receivers reads its deliveries again instead of comparing when they changed. */
const MAX_RECEIVERS_COMPARED = 16;
/** Projection: a delivery without its earlier attempts. */
const WITHOUT_LOG = { attempt_log: 0 } as const;

/**
 * The queue of the sender: each unfinished delivery, by receiver and by the time at which it can be claimed. Claims and outcomes are
 * one write for many deliveries.
 * @param retentionMs how long a finished delivery is kept
 */
export function createDeliveryQueue(
  { db, deliveries }: { db: Db; deliveries: Collection<DeliveryRecord> },
  retentionMs = 30 * DAY_MS,
) {
  const update = createBulkUpdate(db, deliveries.collectionName);
  return {
    /** @returns each receiver with unfinished deliveries, with its first */
    heads(): Promise<QueueHead[]> {
      return deliveries.aggregate<QueueHead>(HEADS, { hint: QUEUE_INDEX }).toArray();
    },

    /**
     * @param skip how many of the first are left out
     * @returns the first of a receiver's deliveries that are due, first due first, without their earlier attempts
     */
    listDue(receiver: string, now: Date, limit: number, skip = 0): Promise<DeliveryRecord[]> {
      const due = { receiver, next_attempt_at: { $gt: new Date(0), $lte: now } };
      const options = { projection: WITHOUT_LOG, hint: QUEUE_INDEX, sort: QUEUE_INDEX, skip, limit, singleBatch: true };
      return deliveries.find(due, { ...options, batchSize: limit }).toArray();
    },

    /** @returns these deliveries, without their earlier attempts */
    async read(ids: readonly string[]): Promise<DeliveryRecord[]> {
      if (ids.length === 0) return [];
      return deliveries.find({ _id: { $in: [...ids] } }, { projection: WITHOUT_LOG }).toArray();
    },

    /** @returns the number of a receiver's deliveries that are due, up to `limit` */
    countDue(receiver: string, now: Date, limit: number): Promise<number> {
      const due = { receiver, next_attempt_at: { $gt: new Date(0), $lte: now } };
      return deliveries.countDocuments(due, { limit, hint: QUEUE_INDEX });
    },

    /**
     * pending | failed -> sweeping, for deliveries that are due. Also takes over expired claims.
     * @param read the deliveries as they were read a moment ago
     * @param claimMs how long the claim is valid
     * @returns the claimed deliveries, as they are after the claim; others have been claimed or changed by others
     */
    async claim(read: readonly DeliveryRecord[], now: Date, claimMs: number): Promise<DeliveryRecord[]> {
      if (read.length === 0) return [];
      const ids = read.map(({ _id }) => _id);
      const claim = randomBytes(9).toString('base64url');
      const until = new Date(now.getTime() + claimMs);
      const due = { _id: { $in: ids }, next_attempt_at: { $gt: new Date(0), $lte: now } };
      const unchanged = unchangedSince(read);
      const filter = unchanged ? { ...due, superseded: { $exists: false }, $and: [unchanged] } : due;
      const { modifiedCount } = await deliveries.updateMany(filter, {
        $set: { status: 'sweeping', claim, next_attempt_at: until, updated_at: now },
        $inc: { attempts: 1 },
      });
      if (unchanged && modifiedCount === ids.length) {
        return read.map((delivery) => ({
          ...delivery,
          status: 'sweeping',
          claim,
          next_attempt_at: until,
          attempts: delivery.attempts + 1,
        }));
      }
      if (modifiedCount === 0) return [];
      return deliveries.find({ _id: { $in: ids }, claim }, { projection: WITHOUT_LOG }).toArray();
    },

    /**
     * sweeping -> delivered | failed | permanently_failed, for many deliveries.
     * @returns the outcomes that were stored; the claims of the others were taken over
     */
    async record(outcomes: readonly Outcome[], now: Date): Promise<Outcome[]> {
      const matched = await update(outcomeUpdates(outcomes, now, retentionMs));
      if (matched === outcomes.length) return [...outcomes];
      const ids = outcomes.map(({ claimed }) => claimed._id);
      const latest = await deliveries.find({ _id: { $in: ids } }, { projection: { claim: 1 } }).toArray();
      const claims = new Map(latest.map(({ _id, claim }) => [_id, claim]));
      return outcomes.filter(({ claimed }) => claims.get(claimed._id) === claimed.claim);
    },

    /**
     * sweeping -> pending | failed, for an attempt whose outcome will not be known.
     * @param due when the delivery can be claimed again
     * @param sent whether a request was sent
     */
    async release(claimed: DeliveryRecord, due: Date, sent: boolean): Promise<void> {
      const status: DeliveryState = claimed.failures === 0 || isExtraAttempt(claimed) ? 'pending' : 'failed';
      await deliveries.updateOne(
        claimFilter(claimed),
        [
          {
            $set: {
              status,
              next_attempt_at: due,
              updated_at: '$$NOW',
              attempts: { $add: ['$attempts', sent ? 0 : -1] },
            },
          },
        ],
        BY_ID,
      );
    },
  };
}

/** MongoDB reads one key of the index for each receiver (DISTINCT_SCAN), however long the queue is. */
export const HEADS: Document[] = [
  { $match: QUEUED },
  { $sort: QUEUE_INDEX },
  {
    $group: {
      _id: '$receiver',
      org: { $first: '$org' },
      delivery: { $first: '$_id' },
      due: { $first: '$next_attempt_at' },
    },
  },
  { $project: { _id: 0, receiver: '$_id', org: 1, delivery: 1, due: 1 } },
];

/**
 * The deliveries of a receiver are read together, so a change after that has a later time than any of them; other receivers
 * may have been read later.
 * @returns a filter for the deliveries that have not changed since they were read; null for so many receivers that
 * reading again is cheaper, and with superseded deliveries
 */
function unchangedSince(read: readonly DeliveryRecord[]): Filter<DeliveryRecord> | null {
  const byReceiver = Map.groupBy(read, ({ receiver }) => receiver);
  // The mark `superseded` has a time before its commit, so that another delivery may have been read with a later time.
  if (byReceiver.size > MAX_RECEIVERS_COMPARED || read.some(({ superseded }) => superseded)) return null;
  const groups = [...byReceiver.values()].map((deliveries) => {
    const latest = Math.max(...deliveries.map(({ updated_at }) => updated_at.getTime()));
    return { _id: { $in: deliveries.map(({ _id }) => _id) }, updated_at: { $lte: new Date(latest) } };
  });
  return groups.length === 1 ? { updated_at: groups[0]!.updated_at } : { $or: groups };
}
