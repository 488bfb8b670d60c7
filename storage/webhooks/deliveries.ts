import { randomBytes } from 'node:crypto';
import type { ClientSession, Collection, UpdateFilter } from 'mongodb';
import type { IndexingStatus } from '../../domain/content/states.js';
import { currentTraceparent } from '../../domain/trace-context.js';
import type { CallbackMessage, NewDelivery } from '../../domain/webhooks/deliveries.js';
import { receiverKey } from '../../domain/webhooks/deliveries.js';
import { DAY_MS } from '../../domain/webhooks/delivery-policy.js';
import type { CallbackEvent, IndexingEvent } from '../../domain/webhooks/events.js';
import { createLaneSwitch, type LaneSwitch } from '../../domain/webhooks/lanes.js';
import {
  type DeliveryState,
  UNFINISHED_DELIVERY_STATES,
  WAITING_DELIVERY_STATES,
} from '../../domain/webhooks/states.js';
import { DEDUPE_INDEX, DOCUMENT_INDEX } from '../indexes.js';
import { BY_ID, staleRecords } from '../queries.js';

export interface DeliveryRecord {
  _id: string;
  org: string;
  event_type: CallbackEvent;
  /** Identifies the event; there is one delivery for each key, even when its transaction is repeated. */
  dedupe_key: string;
  /** The client's id of the item, job or execution. */
  doc_id: string;
  /** The crew of an execution. */
  crew?: string;
  /** Final status of the item, for an indexing webhook. */
  indexing_status: IndexingStatus | null;
  /** `receiverKey` of a callback's URL; null when the receiver is the organisation's registration. */
  receiver: string | null;
  /** The body of an indexing webhook; null for callbacks. */
  payload: IndexingEvent | null;
  /** URL and body of a crew's callback, built once. */
  message?: CallbackMessage;
  /** Id of the RSA key that signs a job's callback. */
  signing_key?: string;
  status: DeliveryState;
  attempts: number;
  /** Failed automatic attempts since the retry schedule was started or restarted: the position in the schedule. */
  failures: number;
  error_code: string | null;
  error_message: string | null;
  /** URL of the last attempt. */
  url: string | null;
  attempt_log: AttemptEntry[];
  /** When the next attempt is due; null in a final state. */
  next_attempt_at: Date | null;
  /** Whether a client has requeued the delivery and no attempt has claimed it since. */
  requeued?: boolean;
  /** During a manual retry of a failed delivery: when its next automatic attempt was due. Otherwise null or absent. */
  automatic_attempt_at?: Date | null;
  /** While `sweeping`: when the claim expires. */
  claimed_until: Date | null;
  /** Identifies the latest claim. Only its holder may record an outcome. */
  claim?: string;
  /** Set when a later version of the item has been announced: then this one is not announced any more. */
  superseded?: true;
  /** The lane that sends the delivery, or has sent it; null or absent for a delivery with a workflow of its own. */
  lane?: number | null;
  /** While the delivery waits in its lane: for which receiver (`receiverOf`), and when it is due or its claim expires. */
  queue?: { receiver: string; due: Date };
  /** The trace of the work that has ended, as `traceparent`. */
  trace?: string;
  /** Time after which the reconciler checks the delivery's workflow. */
  check_at: Date;
  /** When MongoDB removes the record; null while the delivery is unfinished. */
  expires_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

/** One attempt, as the attempt log shows it. */
export interface AttemptEntry {
  at: Date;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
  /** First KiB of the receiver's response, as text. */
  answer: string | null;
}

export type Deliveries = ReturnType<typeof createDeliveries>;

/** Maximum length of the attempt log; manual retries are not limited. */
export const MAX_LOGGED_ATTEMPTS = 50;

/** `check_at` of deliveries in a lane. */
export const NOT_CHECKED = new Date('9999-01-01T00:00:00Z');

/** Matches while the claim is valid: no other process has claimed the delivery since. */
export const claimFilter = ({ _id, org, claim }: DeliveryRecord) => ({
  _id,
  org,
  status: 'sweeping' as const,
  claim: claim!,
});

export function newClaim(): string {
  return randomBytes(9).toString('base64url');
}

/** The key by which attempts at one receiver are counted: an organisation has one registration. */
export function receiverOf({ org, receiver }: Pick<DeliveryRecord, 'org' | 'receiver'>): string {
  return receiver ?? org;
}

/** Whether a claimed attempt is a manual retry beside the automatic schedule. */
export function isExtraAttempt({ automatic_attempt_at }: DeliveryRecord): boolean {
  return Boolean(automatic_attempt_at);
}

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

/**
 * @param receiver `receiverKey` of the URL
 * @returns the record of a new delivery: pending, and due at once
 */
export function pendingDelivery(
  { now, url, ...delivery }: NewDelivery,
  lane: number | null = null,
  receiver = url === undefined ? null : receiverKey(delivery.org, url),
): DeliveryRecord {
  const trace = currentTraceparent();
  return {
    indexing_status: null,
    payload: null,
    ...delivery,
    receiver,
    lane,
    ...(lane === null ? {} : { queue: { receiver: receiver ?? delivery.org, due: now } }),
    ...(trace === undefined ? {} : { trace }),
    status: 'pending',
    attempts: 0,
    failures: 0,
    error_code: null,
    error_message: null,
    url: null,
    attempt_log: [],
    next_attempt_at: now,
    claimed_until: null,
    check_at: lane === null ? now : NOT_CHECKED,
    expires_at: null,
    created_at: now,
    updated_at: now,
  };
}

/**
 * The update that stores the outcome of an attempt: sweeping -> delivered | failed | permanently_failed.
 * @param retentionMs how long a finished delivery is kept
 * @param stays whether a failed delivery stays in its lane; otherwise its own workflow continues
 */
export function outcomeUpdate(
  claimed: DeliveryRecord,
  attempt: RecordedAttempt,
  now: Date,
  retentionMs: number,
  stays = false,
): UpdateFilter<DeliveryRecord> {
  const failed = attempt.status === 'failed';
  const leaves = failed && !stays && typeof claimed.lane === 'number';
  const failures = attempt.status === 'delivered' || isExtraAttempt(claimed) ? 0 : 1;
  const changed: Partial<DeliveryRecord> = {
    automatic_attempt_at: null,
    url: attempt.url,
    error_code: attempt.error_code,
    error_message: attempt.error_message,
  };
  return {
    $set: {
      status: attempt.status,
      next_attempt_at: attempt.next_attempt_at,
      ...(failed && !stays ? { check_at: attempt.next_attempt_at! } : {}),
      expires_at: failed ? null : new Date(now.getTime() + retentionMs),
      claimed_until: null,
      // MongoDB parses and compares each field, and the holder of the claim knows which of them are different.
      ...Object.fromEntries(
        Object.entries(changed).filter(([name, value]) => (claimed[name as keyof DeliveryRecord] ?? null) !== value),
      ),
      updated_at: now,
      ...(leaves ? { lane: null } : {}),
      ...(failed && stays ? { 'queue.due': attempt.next_attempt_at! } : {}),
    },
    ...(failed && stays ? {} : { $unset: { queue: '' } }),
    ...(failures === 0 && attempt.sent ? {} : { $inc: { failures, attempts: attempt.sent ? 0 : -1 } }),
    $push: { attempt_log: { $each: [attempt.entry], $slice: -MAX_LOGGED_ATTEMPTS } },
  };
}

/** Marks the unsent deliveries of earlier versions, whose news would arrive after this one's. */
function supersede({ org, doc_id, event_type, payload }: DeliveryRecord) {
  const { tenant_id, collection, version } = payload!;
  return {
    updateMany: {
      filter: {
        org,
        doc_id,
        event_type,
        status: { $in: UNFINISHED_DELIVERY_STATES },
        'payload.tenant_id': tenant_id,
        'payload.collection': collection,
        'payload.version': { $lt: version },
      },
      update: { $set: { superseded: true as const } },
      hint: DOCUMENT_INDEX,
    },
  };
}

/**
 * Delivery records. Every change of state is one conditional update. `lane-queue.ts` has the updates of deliveries in a lane,
 * `client-deliveries.ts` what clients read and change.
 * @param retentionMs how long a finished delivery is kept
 * @param laneSwitch decides which new deliveries go into a lane
 */
export function createDeliveries(
  { deliveries }: { deliveries: Collection<DeliveryRecord> },
  retentionMs = 30 * DAY_MS,
  laneSwitch: LaneSwitch = createLaneSwitch({ lanes: 0 }),
) {
  /** @returns the records of new deliveries of one event, or of several that happen together */
  const prepare = (added: readonly NewDelivery[]): DeliveryRecord[] => {
    const receivers = added.map(({ org, url }) => (url === undefined ? null : receiverKey(org, url)));
    const lanes = laneSwitch.lanesFor(added.map(({ org }, n) => receivers[n] ?? org));
    return added.map((delivery, n) => pendingDelivery(delivery, lanes[n], receivers[n]));
  };
  /** Stores the records in the transaction of their events. */
  const insert = async (records: readonly DeliveryRecord[], tx: ClientSession): Promise<void> => {
    // The driver does more than twice the work for a list.
    if (records.length === 1) await deliveries.insertOne(records[0]!, { session: tx });
    else if (records.length > 1) await deliveries.insertMany(records, { session: tx });
    const replacing = records.filter(({ payload }) => payload !== null && payload.version > 1);
    if (replacing.length > 0) await deliveries.bulkWrite(replacing.map(supersede), { session: tx, ordered: false });
  };
  /** Stores the deliveries of one transaction. */
  const addAll = async (added: readonly NewDelivery[], tx: ClientSession): Promise<DeliveryRecord[]> => {
    const records = prepare(added);
    await insert(records, tx);
    return records;
  };

  return {
    prepare,
    insert,
    addAll,

    /** Stores a delivery, in the transaction of the event. */
    async add(delivery: NewDelivery, tx: ClientSession): Promise<DeliveryRecord> {
      return (await addAll([delivery], tx))[0]!;
    },

    getById(org: string, deliveryId: string): Promise<DeliveryRecord | null> {
      return deliveries.findOne({ _id: deliveryId, org }, BY_ID);
    },

    getByDedupeKey(org: string, dedupe_key: string): Promise<DeliveryRecord | null> {
      return deliveries.findOne({ org, dedupe_key }, { hint: DEDUPE_INDEX });
    },

    /** @returns those of these deliveries that no attempt has been made at */
    listUnattemptedByKeys(org: string, dedupeKeys: readonly string[]): Promise<DeliveryRecord[]> {
      const filter = { org, dedupe_key: { $in: [...dedupeKeys] }, status: 'pending' as const, attempts: 0 };
      return deliveries.find(filter, { projection: { message: 0 }, hint: DEDUPE_INDEX }).toArray();
    },

    /** @returns the deliveries of these events that no attempt has been made at, oldest first */
    listUnattempted(org: string, dedupePrefix: string): Promise<DeliveryRecord[]> {
      const events = { $gte: dedupePrefix, $lt: `${dedupePrefix}\uffff` };
      const filter = { org, dedupe_key: events, status: 'pending' as const, attempts: 0 };
      return deliveries
        .find(filter, { projection: { message: 0 }, hint: DEDUPE_INDEX })
        .sort({ _id: 1 })
        .toArray();
    },

    /**
     * pending | failed -> sweeping, when an attempt is due. Also takes over an expired claim.
     * @param attemptMs how long the claim is valid, by event
     * @returns the claimed delivery, or null when no attempt is due or another process has the claim
     */
    claim(
      org: string,
      deliveryId: string,
      now: Date,
      attemptMs: Record<CallbackEvent, number>,
    ): Promise<DeliveryRecord | null> {
      const branches = Object.entries(attemptMs).map(([event, ms]) => ({
        case: { $eq: ['$event_type', event] },
        // biome-ignore lint/suspicious/noThenProperty: a MongoDB operator
        then: new Date(now.getTime() + ms),
      }));
      return deliveries.findOneAndUpdate(
        {
          _id: deliveryId,
          org,
          $or: [
            { status: { $in: WAITING_DELIVERY_STATES }, next_attempt_at: { $lte: now } },
            { status: 'sweeping', claimed_until: { $lte: now } },
          ],
        },
        [
          {
            $set: {
              status: 'sweeping',
              claimed_until: { $switch: { branches } },
              claim: newClaim(),
              // The workflow that claims a delivery continues with it.
              check_at: { $cond: [{ $gt: ['$queue', null] }, now, '$check_at'] },
              lane: null,
              queue: '$$REMOVE',
              requeued: false,
              attempts: { $add: ['$attempts', 1] },
              updated_at: now,
            },
          },
        ],
        { returnDocument: 'after', projection: { attempt_log: 0 }, ...BY_ID },
      );
    },

    /**
     * sweeping -> delivered | failed | permanently_failed.
     * @returns false when the claim was taken over: then nothing is stored
     */
    async record(claimed: DeliveryRecord, attempt: RecordedAttempt, now: Date): Promise<boolean> {
      const result = await deliveries.updateOne(
        claimFilter(claimed),
        outcomeUpdate(claimed, attempt, now, retentionMs),
        BY_ID,
      );
      return result.matchedCount === 1;
    },

    /**
     * sweeping -> pending | failed, due at once: for an attempt whose outcome will not be known.
     * @param sent whether a request was sent
     */
    async release(claimed: DeliveryRecord, now: Date, sent = true): Promise<void> {
      const status: DeliveryState = claimed.failures === 0 || isExtraAttempt(claimed) ? 'pending' : 'failed';
      const released: UpdateFilter<DeliveryRecord> = {
        $set: {
          status,
          next_attempt_at: now,
          claimed_until: null,
          updated_at: now,
          ...(claimed.queue ? { 'queue.due': now } : { check_at: now }),
        },
        $inc: { attempts: sent ? 0 : -1 },
      };
      await deliveries.updateOne(claimFilter(claimed), released, BY_ID);
    },

    /**
     * Unfinished deliveries whose next attempt is overdue, without attempt logs. The longer a delivery waits for its
     * receiver, the less often it is checked. Those in lanes are not checked: their lane is (`createLanes`).
     */
    stale: staleRecords(
      deliveries,
      (before) => ({ status: { $in: UNFINISHED_DELIVERY_STATES }, next_attempt_at: { $lt: before } }),
      {
        projection: { message: 0, attempt_log: 0 },
        checkAt: (next) => ({ $add: [next, { $subtract: [next, '$next_attempt_at'] }] }),
      },
    ),
  };
}
