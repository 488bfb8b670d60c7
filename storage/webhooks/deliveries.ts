import type { ClientSession, Collection } from 'mongodb';
import { type DeliveryState, type IndexingStatus, RETRYABLE_DELIVERY_STATES } from '../../domain/states.js';
import type { CallbackMessage, NewDelivery } from '../../domain/webhooks/deliveries.js';
import { receiverKey } from '../../domain/webhooks/deliveries.js';
import { DAY_MS } from '../../domain/webhooks/delivery-policy.js';
import type { CallbackEvent, IndexingEvent } from '../../domain/webhooks/events.js';
import { newestFirst, type PageQuery, takeStale } from '../queries.js';

export interface DeliveryRecord {
  _id: string;
  org: string;
  event_type: CallbackEvent;
  /** Names the event that is notified; one delivery each, however often its transaction is repeated. */
  dedupe_key: string;
  /** The announced thing's id as its client knows it. */
  doc_id: string;
  /** Of an item, when it ended. */
  indexing_status: IndexingStatus | null;
  /** Tells receivers apart where an organisation has several (`receiverKey`); null for its registration. */
  receiver: string | null;
  /** The body; null where it is made from the announced thing's own record. */
  payload: IndexingEvent | null;
  /** Of a crew's callback: where it goes to and the body, made once. */
  message?: CallbackMessage;
  status: DeliveryState;
  attempts: number;
  /** Failed attempts since the schedule was started (anew): its place in the schedule. */
  failures: number;
  error_code: string | null;
  error_message: string | null;
  /** The address of the last attempt. */
  url: string | null;
  attempt_log: AttemptEntry[];
  /** When the next attempt is due; null once there is none. */
  next_attempt_at: Date | null;
  /** Put back by a person, and not claimed since. */
  requeued?: boolean;
  /** While `sweeping`: until when the claim holds if the claimant is never heard of again. */
  claimed_until: Date | null;
  /** From when on the sweep may wonder whether its workflow exists. */
  check_at: Date;
  /** When MongoDB removes the record; null as long as it is under way. */
  expires_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

export interface AttemptEntry {
  at: Date;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
  /** First KiB of the receiver's answer, as text. */
  answer: string | null;
}

export type Deliveries = ReturnType<typeof createDeliveries>;

/** Entries of the attempt log that are kept; manual retries can go on for long. */
const MAX_LOGGED_ATTEMPTS = 50;

const UNFINISHED_STATES: DeliveryState[] = ['pending', 'sweeping', 'failed'];

/** Projection: a delivery without its body and its attempts. */
const SUMMARY = { payload: 0, message: 0, attempt_log: 0 } as const;

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

/** A delivery as it is stored first: pending, and due at once. */
export function pendingDelivery({ now, url, ...delivery }: NewDelivery): DeliveryRecord {
  return {
    indexing_status: null,
    payload: null,
    ...delivery,
    receiver: url === undefined ? null : receiverKey(delivery.org, url),
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
export function createDeliveries(
  { deliveries }: { deliveries: Collection<DeliveryRecord> },
  retentionMs = 30 * DAY_MS,
) {
  return {
    /** Stores a delivery in the transaction of what it notifies of. */
    async add(delivery: NewDelivery, tx: ClientSession): Promise<DeliveryRecord> {
      const record = pendingDelivery(delivery);
      await deliveries.insertOne(record, { session: tx });
      return record;
    },

    getById(deliveryId: string): Promise<DeliveryRecord | null> {
      return deliveries.findOne({ _id: deliveryId });
    },

    getByDedupeKey(dedupe_key: string): Promise<DeliveryRecord | null> {
      return deliveries.findOne({ dedupe_key });
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
     * failed | permanently_failed -> pending and due at once; a delivery that was given up starts its schedule again.
     * @returns false when the delivery is in another state; then nothing has changed
     */
    async requeue(org: string, event: CallbackEvent, deliveryId: string, tx?: ClientSession): Promise<boolean> {
      const now = new Date();
      const requeued = await deliveries.updateOne(
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
        { session: tx },
      );
      return requeued.matchedCount === 1;
    },

    findForOrg(org: string, event: CallbackEvent, deliveryId: string): Promise<DeliveryRecord | null> {
      return deliveries.findOne({ _id: deliveryId, org, event_type: event });
    },

    /** @returns one page, newest first, without bodies and logs; `status` restricts it to one state */
    listForOrg(
      org: string,
      event: CallbackEvent,
      { status, ...page }: PageQuery & { status?: DeliveryState },
    ): Promise<DeliveryRecord[]> {
      const filter = { org, event_type: event, ...(status === undefined ? {} : { status }) };
      return newestFirst(deliveries, filter, page).project<DeliveryRecord>(SUMMARY).toArray();
    },

    /** Unfinished deliveries whose next attempt is overdue, without attempt logs; they are not due again before `next`. */
    takeStale(before: Date, next: Date, limit: number): Promise<DeliveryRecord[]> {
      const overdue = { status: { $in: UNFINISHED_STATES }, next_attempt_at: { $lt: before } };
      return takeStale(deliveries, overdue, { before, next, limit }, { projection: { message: 0, attempt_log: 0 } });
    },
  };
}
