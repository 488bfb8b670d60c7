import type { Collection, Db, Document, Filter } from 'mongodb';
import { DAY_MS } from '../../domain/webhooks/delivery-policy.js';
import type { CallbackEvent } from '../../domain/webhooks/events.js';
import { WAITING_DELIVERY_STATES } from '../../domain/webhooks/states.js';
import { LANE_INDEX } from '../indexes.js';
import { OF_ANY_ORG } from '../queries.js';
import { createUpdates } from '../updates.js';
import { type DeliveryRecord, newClaim, receiverOf } from './deliveries.js';
import { type LaneOutcome, outcomeUpdates } from './outcome-updates.js';

export type LaneQueue = ReturnType<typeof createLaneQueue>;

/** The first delivery of a receiver in a lane. */
export interface QueueHead {
  receiver: string;
  /** A receiver belongs to one organisation. */
  org: string;
  /** Id of the delivery that is due first. */
  delivery: string;
  /** When it is due, or its claim expires. */
  due: Date;
}

/** Matches the records of the partial index of lanes. */
const QUEUED = { 'queue.receiver': { $gt: '' } } as const;

/** A claim for more receivers reads its deliveries again instead of comparing when they changed. */
const MAX_RECEIVERS_COMPARED = 16;
/** Projection: a delivery without its earlier attempts. */
const WITHOUT_LOG = { attempt_log: 0 } as const;

/** For a delivery that was changed outside its lane: a claim of another process ends first, and a finished delivery leaves. */
const WAIT_FOR_CLAIM: Document[] = [
  {
    $set: {
      queue: {
        $cond: [{ $eq: ['$status', 'sweeping'] }, { receiver: '$queue.receiver', due: '$claimed_until' }, '$$REMOVE'],
      },
    },
  },
];

/**
 * The deliveries that wait in lanes. Claims and outcomes are one write for many deliveries.
 * @param retentionMs how long a finished delivery is kept
 */
export function createLaneQueue(
  { db, deliveries }: { db: Db; deliveries: Collection<DeliveryRecord> },
  retentionMs = 30 * DAY_MS,
) {
  const update = createUpdates(db, deliveries.collectionName);
  return {
    headsQuery,

    /** @returns each receiver in the lane, with its first delivery */
    heads(lane: number): Promise<QueueHead[]> {
      return deliveries.aggregate<QueueHead>(headsQuery(lane), { hint: LANE_INDEX }).toArray();
    },

    /** @returns the first of a receiver's deliveries that are due, first due first, without their earlier attempts */
    listDue(lane: number, receiver: string, now: Date, limit: number): Promise<DeliveryRecord[]> {
      const due = { lane, 'queue.receiver': receiver, 'queue.due': { $lte: now } } as Filter<DeliveryRecord>;
      const options = { projection: WITHOUT_LOG, hint: LANE_INDEX, sort: LANE_INDEX, limit, singleBatch: true };
      return deliveries.find(due, { ...options, batchSize: limit }).toArray();
    },

    /** @returns these deliveries, without their earlier attempts */
    async read(ids: readonly string[]): Promise<DeliveryRecord[]> {
      if (ids.length === 0) return [];
      return deliveries.find({ _id: { $in: [...ids] } }, { projection: WITHOUT_LOG, ...OF_ANY_ORG }).toArray();
    },

    /**
     * pending | failed -> sweeping, for deliveries that are due. Also takes over expired claims.
     * @param read the deliveries as they were read a moment ago
     * @param claimMs how long the claim is valid
     * @returns the claimed deliveries, as they are after the claim; others have been claimed or changed by others
     */
    async claim(lane: number, read: readonly DeliveryRecord[], now: Date, claimMs: number): Promise<DeliveryRecord[]> {
      if (read.length === 0) return [];
      const ids = read.map(({ _id }) => _id);
      const claim = newClaim();
      const until = new Date(now.getTime() + claimMs);
      const due = { _id: { $in: ids }, lane, 'queue.due': { $lte: now } } as Filter<DeliveryRecord>;
      const unchanged = unchangedSince(read);
      const free = [
        { status: { $in: WAITING_DELIVERY_STATES } },
        { status: 'sweeping' as const, claimed_until: { $lte: now } },
      ];
      const { modifiedCount } = await deliveries.updateMany(
        { ...due, $and: [{ $or: free }, ...(unchanged ? [unchanged] : [])] },
        {
          $set: {
            status: 'sweeping',
            claim,
            claimed_until: until,
            'queue.due': until,
            requeued: false,
            updated_at: now,
          },
          $inc: { attempts: 1 },
        },
      );
      if (unchanged && modifiedCount === ids.length) {
        return read.map((delivery) => ({
          ...delivery,
          status: 'sweeping',
          claim,
          claimed_until: until,
          attempts: delivery.attempts + 1,
        }));
      }
      // Other deliveries would wait behind these without end.
      if (modifiedCount < ids.length) await deliveries.updateMany({ ...due, $nor: free }, WAIT_FOR_CLAIM);
      if (modifiedCount === 0) return [];
      return deliveries.find({ _id: { $in: ids }, claim }, { projection: WITHOUT_LOG }).toArray();
    },

    /**
     * sweeping -> delivered | failed | permanently_failed, for many deliveries.
     * @returns the outcomes that were stored; the claims of the others were taken over
     */
    async record(outcomes: readonly LaneOutcome[], now: Date): Promise<LaneOutcome[]> {
      const matched = await update(outcomeUpdates(outcomes, now, retentionMs));
      if (matched === outcomes.length) return [...outcomes];
      const ids = outcomes.map(({ claimed }) => claimed._id);
      const latest = await deliveries
        .find({ _id: { $in: ids } }, { projection: { claim: 1 }, ...OF_ANY_ORG })
        .toArray();
      const claims = new Map(latest.map(({ _id, claim }) => [_id, claim]));
      return outcomes.filter(({ claimed }) => claims.get(claimed._id) === claimed.claim);
    },

    /** @returns the number of failed deliveries of an organisation and event, up to `limit` */
    countFailed(org: string, event_type: CallbackEvent, limit: number): Promise<number> {
      return deliveries.countDocuments({ org, event_type, status: 'failed' }, { limit });
    },

    /** @returns whether a delivery in the lane has been due since before this time */
    async isOverdue(lane: number, before: Date): Promise<boolean> {
      const filter = { lane, ...QUEUED, 'queue.due': { $lt: before } } as Filter<DeliveryRecord>;
      return (await deliveries.findOne(filter, { projection: { _id: 1 }, hint: LANE_INDEX })) !== null;
    },

    /** @returns the lanes with deliveries */
    async listLanes(): Promise<number[]> {
      return (await deliveries.distinct('lane', {
        ...QUEUED,
        lane: { $gte: 0 },
      } as Filter<DeliveryRecord>)) as number[];
    },
  };
}

/**
 * The deliveries of a receiver are read together, so a change after that has a later time than any of them; other receivers
 * may have been read later.
 * @returns a filter for the deliveries that have not changed since they were read; null for so many receivers that reading again is cheaper
 */
function unchangedSince(read: readonly DeliveryRecord[]): Filter<DeliveryRecord> | null {
  const byReceiver = new Map<string, { ids: string[]; latest: number }>();
  for (const delivery of read) {
    const group = byReceiver.get(receiverOf(delivery)) ?? { ids: [], latest: 0 };
    group.ids.push(delivery._id);
    group.latest = Math.max(group.latest, delivery.updated_at.getTime());
    byReceiver.set(receiverOf(delivery), group);
  }
  if (byReceiver.size > MAX_RECEIVERS_COMPARED) return null;
  const groups = [...byReceiver.values()].map(({ ids, latest }) => {
    return { _id: { $in: ids }, updated_at: { $lte: new Date(latest) } };
  });
  return groups.length === 1 ? { updated_at: groups[0]!.updated_at } : { $or: groups };
}

/** MongoDB reads one key of the index for each receiver (DISTINCT_SCAN), however long the queues are. */
function headsQuery(lane: number): Document[] {
  return [
    { $match: { lane, ...QUEUED } },
    { $sort: LANE_INDEX },
    {
      $group: {
        _id: '$queue.receiver',
        org: { $first: '$org' },
        delivery: { $first: '$_id' },
        due: { $first: '$queue.due' },
      },
    },
    { $project: { _id: 0, receiver: '$_id', org: 1, delivery: 1, due: 1 } },
  ];
}
