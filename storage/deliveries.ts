import type { ClientSession, Filter } from 'mongodb';
import { type CallbackEvent, receiverKey } from '../domain/callbacks.js';
import { DAY_MS } from '../domain/delivery-policy.js';
import { type DeliveryState, RETRYABLE_DELIVERY_STATES } from '../domain/states.js';
import { type Alongside, type Mongo, writeAlongside } from './mongo.js';
import type { AttemptEntry, CrewMessage, DeliveryRecord } from './records/deliveries.js';

export type Deliveries = ReturnType<typeof createDeliveries>;

/** Entries of the attempt log that are kept; manual retries can go on for long. */
const MAX_LOGGED_ATTEMPTS = 50;

/** The end of one attempt, as it is written down. */
export interface RecordedAttempt {
  status: Extract<DeliveryState, 'delivered' | 'failed' | 'permanently_failed'>;
  /** Whether a request was made at all. */
  sent: boolean;
  entry: AttemptEntry;
  url: string | null;
  next_attempt_at: Date | null;
  error_code: string | null;
  error_message: string | null;
}

/** What a new delivery announces, and for whom. */
export interface Announcement {
  _id: string;
  org: string;
  subject: string;
  event_type: CallbackEvent;
  doc_id: string;
  /** The address it goes to; absent where that is the organisation's registration. */
  url?: string;
  /** The body, where it is made once; needs `url`. */
  message?: CrewMessage;
  now: Date;
}

/** A delivery as it begins: pending, and due at once. */
export function pendingDelivery({ now, url, ...announcement }: Announcement): DeliveryRecord {
  return {
    ...announcement,
    receiver: url === undefined ? null : receiverKey(announcement.org, url),
    indexing_status: null,
    payload: null,
    status: 'pending',
    attempts: 0,
    failures: 0,
    error_code: null,
    error_message: null,
    url: null,
    attempt_log: [],
    next_attempt_at: now,
    claimed_until: null,
    check_at: now,
    expires_at: null,
    created_at: now,
    updated_at: now,
  };
}

/**
 * Delivery records and the moves between their states. Every move is one conditional update.
 * @param retentionMs how long a record outlives its last attempt
 */
export function createDeliveries({ client, deliveries }: Mongo, retentionMs = 30 * DAY_MS) {
  return {
    /** Part of the transaction that ends something. */
    async add(record: DeliveryRecord, session: ClientSession): Promise<void> {
      await deliveries.insertOne(record, { session });
    },

    get(deliveryId: string): Promise<DeliveryRecord | null> {
      return deliveries.findOne({ _id: deliveryId });
    },

    of(subject: string): Promise<DeliveryRecord | null> {
      return deliveries.findOne({ subject });
    },

    /**
     * pending | failed -> sweeping, when due; also takes over a claim that has run out.
     * @param attemptMs how long the claim holds, for each kind of callback
     * @returns null when it is not due, not waiting, or claimed by another
     */
    claim(deliveryId: string, now: Date, attemptMs: Record<CallbackEvent, number>): Promise<DeliveryRecord | null> {
      const branches = Object.entries(attemptMs).map(([event, ms]) => ({
        case: { $eq: ['$event_type', event] },
        // biome-ignore lint/suspicious/noThenProperty: MongoDB's word
        then: new Date(now.getTime() + ms),
      }));
      return deliveries.findOneAndUpdate(
        {
          _id: deliveryId,
          $or: [
            { status: { $in: ['pending', 'failed'] }, next_attempt_at: { $lte: now } },
            { status: 'sweeping', claimed_until: { $lte: now } },
          ],
        },
        [
          {
            $set: {
              status: 'sweeping',
              claimed_until: { $switch: { branches } },
              requeued: false,
              attempts: { $add: ['$attempts', 1] },
              updated_at: now,
            },
          },
        ],
        { returnDocument: 'after', projection: { attempt_log: 0 } },
      );
    },

    /** sweeping -> delivered | failed | permanently_failed, by the claimant only. */
    async record(claimed: DeliveryRecord, attempt: RecordedAttempt, now: Date): Promise<void> {
      await deliveries.updateOne(
        { _id: claimed._id, status: 'sweeping', attempts: claimed.attempts },
        {
          $set: {
            status: attempt.status,
            next_attempt_at: attempt.next_attempt_at,
            check_at: attempt.next_attempt_at ?? now,
            expires_at: attempt.status === 'failed' ? null : new Date(now.getTime() + retentionMs),
            claimed_until: null,
            url: attempt.url,
            error_code: attempt.error_code,
            error_message: attempt.error_message,
            updated_at: now,
          },
          $inc: { failures: attempt.status === 'delivered' ? 0 : 1, attempts: attempt.sent ? 0 : -1 },
          $push: { attempt_log: { $each: [attempt.entry], $slice: -MAX_LOGGED_ATTEMPTS } },
        },
      );
    },

    /**
     * failed | permanently_failed -> pending and due at once; a delivery that was given up starts its schedule anew.
     * @returns the state it was in, or null when it is in another state (then nothing has changed)
     */
    async requeue(
      org: string,
      event: CallbackEvent,
      deliveryId: string,
      alongside?: Alongside,
    ): Promise<DeliveryState | null> {
      const now = new Date();
      const requeueOne = (session?: ClientSession) =>
        deliveries.findOneAndUpdate(
          { _id: deliveryId, org, event_type: event, status: { $in: [...RETRYABLE_DELIVERY_STATES] } },
          [
            {
              $set: {
                failures: { $cond: [{ $eq: ['$status', 'permanently_failed'] }, 0, '$failures'] },
                status: 'pending',
                requeued: true,
                next_attempt_at: now,
                check_at: now,
                expires_at: null,
                updated_at: now,
              },
            },
          ],
          { projection: { status: 1 }, session },
        );
      const before = await writeAlongside(client, requeueOne, alongside);
      return before?.status ?? null;
    },

    find(org: string, event: CallbackEvent, deliveryId: string): Promise<DeliveryRecord | null> {
      return deliveries.findOne({ _id: deliveryId, org, event_type: event });
    },

    /** Newest first, keyset paging: ids sort by time. @param before the last id of the page before */
    list(
      org: string,
      event: CallbackEvent,
      query: { status?: DeliveryState; before?: string; limit: number },
    ): Promise<DeliveryRecord[]> {
      const filter: Filter<DeliveryRecord> = { org, event_type: event };
      if (query.status !== undefined) filter.status = query.status;
      if (query.before !== undefined) filter._id = { $lt: query.before };
      return deliveries
        .find(filter)
        .sort({ _id: -1 })
        .limit(query.limit)
        .project<DeliveryRecord>({ payload: 0, message: 0, attempt_log: 0 })
        .toArray();
    },

    /** Unfinished deliveries that should have moved and are due for a look; not due again before `next`. */
    async takeUnchecked(before: Date, next: Date, limit: number): Promise<DeliveryRecord[]> {
      const found = await deliveries
        .find({
          status: { $in: ['pending', 'sweeping', 'failed'] },
          check_at: { $lt: before },
          next_attempt_at: { $lt: before },
        })
        .sort({ check_at: 1 })
        .limit(limit)
        .project<DeliveryRecord>({ payload: 0, message: 0, attempt_log: 0 })
        .toArray();
      await deliveries.updateMany({ _id: { $in: found.map((one) => one._id) } }, { $set: { check_at: next } });
      return found;
    },
  };
}
