import type { ClientSession } from 'mongodb';
import type { IndexingStatus } from '../../domain/content/states.js';
import type { CallbackEvent, IndexingEvent } from '../../domain/webhooks/events.js';
import { createLoadSwitch, type LoadSwitch } from '../../domain/webhooks/load-switch.js';
import type { OperatorNotice } from '../../domain/webhooks/operator-notices.js';
import {
  type DeliveryState,
  RETRYABLE_DELIVERY_STATES,
  UNFINISHED_DELIVERY_STATES,
} from '../../domain/webhooks/states.js';
import type { Access } from '../collections.js';
import { DEDUPE_INDEX, DELIVERY_LIST_INDEX, DOCUMENT_INDEX } from '../indexes.js';
import type { RecordUpdate } from '../organisation-records.js';
import { BY_ID } from '../queries.js';
import { type CallbackMessage, type NewDelivery, pendingDelivery } from './new-delivery.js';

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
  /** `receiverKey` of a callback's URL; the organisation, when the receiver is its registration. */
  receiver: string;
  /** The body of an indexing webhook; null for callbacks. */
  payload: IndexingEvent | null;
  /** The complete callback, when it is built once and not at each attempt. */
  message?: CallbackMessage;
  /** Id of the RSA key that signs a job's callback. */
  signing_key?: string;
  /** Of a notice to the operator. */
  notice?: OperatorNotice;
  status: DeliveryState;
  attempts: number;
  /** Failed automatic attempts since the retry schedule was started or restarted: the position in the schedule. */
  failures: number;
  error_code: string | null;
  error_message: string | null;
  /** URL of the last attempt. */
  url: string | null;
  attempt_log: AttemptEntry[];
  /** When the sender may claim the delivery: when an attempt is due or, while `sweeping`, when the claim expires. Null in a final state. */
  next_attempt_at: Date | null;
  /** During a manual retry of a failed delivery: when its next automatic attempt was due. Otherwise null or absent. */
  automatic_attempt_at?: Date | null;
  /** Identifies the latest claim. Only its holder may record an outcome. */
  claim?: string;
  /** Set when a later version of the item has been announced: then this one is not announced any more. */
  superseded?: true;
  /** Whether the delivery has a workflow of its own, which shows it to operators. */
  has_workflow: boolean;
  /** The trace of the work that has ended, as `traceparent`. */
  trace?: string;
  /** Time after which the reconciler checks the delivery's workflow; null when it has none, or needs it no more. */
  check_at: Date | null;
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

const UNDELIVERED: readonly DeliveryState[] = [...UNFINISHED_DELIVERY_STATES, ...RETRYABLE_DELIVERY_STATES];

export type Deliveries = ReturnType<typeof createDeliveries>;

/** Whether a claimed attempt is a manual retry beside the automatic schedule. */
export function isExtraAttempt({ automatic_attempt_at }: DeliveryRecord): boolean {
  return Boolean(automatic_attempt_at);
}

/** Marks the unsent deliveries of earlier versions, whose news would arrive after this one's. A client may retry those that failed. */
function supersede({ doc_id, event_type, payload }: DeliveryRecord): RecordUpdate<DeliveryRecord> {
  const { tenant_id, collection, version } = payload!;
  return {
    filter: {
      doc_id,
      event_type,
      status: { $in: UNDELIVERED },
      'payload.tenant_id': tenant_id,
      'payload.collection': collection,
      'payload.version': { $lt: version },
    },
    // The time, so that the sender reads those again that it has read already.
    update: [{ $set: { superseded: true, updated_at: '$$NOW' } }],
    multi: true,
    hint: DOCUMENT_INDEX,
  };
}

/**
 * Delivery records. Every change of state is one conditional update. `delivery-queue.ts` has the claims and outcomes of the sender,
 * `client-deliveries.ts` what clients read and change.
 * @param loadSwitch decides which new deliveries have a workflow from the start
 */
export function createDeliveries({ deliveries }: Access<'deliveries'>, loadSwitch: LoadSwitch = createLoadSwitch()) {
  return {
    /** Stores the deliveries of one transaction, which are of one organisation. */
    async addAll(added: readonly NewDelivery[], tx: ClientSession): Promise<DeliveryRecord[]> {
      if (added.length === 0) return [];
      const workflows = loadSwitch(added.length);
      const records = added.map((delivery, n) => pendingDelivery(delivery, workflows[n]!));
      const own = deliveries.forOrg(records[0]!.org);
      await own.insertMany(records, { session: tx });
      const replacing = records.filter(({ payload }) => payload !== null && payload.version > 1);
      if (replacing.length > 0) await own.updateEach(replacing.map(supersede), { session: tx, ordered: false });
      return records;
    },

    getById(org: string, deliveryId: string): Promise<DeliveryRecord | null> {
      return deliveries.forOrg(org).findOne({ _id: deliveryId }, BY_ID);
    },

    getByDedupeKey(org: string, dedupe_key: string): Promise<DeliveryRecord | null> {
      return deliveries.forOrg(org).findOne({ dedupe_key }, { hint: DEDUPE_INDEX });
    },

    /** Records that the workflow of a finished delivery has seen its end. */
    async markShown(org: string, deliveryId: string): Promise<void> {
      const finished = { _id: deliveryId, next_attempt_at: null };
      await deliveries.forOrg(org).updateOne(finished, { $set: { check_at: null } }, BY_ID);
    },

    /**
     * @param which only those that wait without a workflow, for example
     * @returns the number of an organisation's failed deliveries of an event, up to `limit`
     */
    countFailed(org: string, event_type: CallbackEvent, limit: number, which: { has_workflow?: false } = {}) {
      const failed = { event_type, status: 'failed' as const, ...which };
      return deliveries.forOrg(org).countDocuments(failed, { limit, hint: DELIVERY_LIST_INDEX });
    },

    /**
     * Deliveries with a workflow that are overdue, or that have ended and whose workflow has not shown it, without attempt logs. The
     * longer a delivery waits for its receiver, the less often it is checked.
     */
    stale: deliveries.stale(() => ({ $and: [{ check_at: { $gt: new Date(0) } }] }), {
      projection: { message: 0, attempt_log: 0 },
      checkAt: (next) => ({ $add: [next, { $subtract: [next, { $ifNull: ['$next_attempt_at', next] }] }] }),
    }),
  };
}
