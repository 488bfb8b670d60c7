import type { ClientSession, Document } from 'mongodb';
import { lowestDeliveryId } from '../../domain/ids.js';
import type { DeliveryFilter } from '../../domain/webhooks/delivery-filters.js';
import type { CallbackEvent } from '../../domain/webhooks/events.js';
import { DELIVERY_STATES, RETRYABLE_DELIVERY_STATES } from '../../domain/webhooks/states.js';
import type { Access } from '../collections.js';
import type { OwnFilter } from '../organisation-records.js';
import { newestFirst, type PageQuery, pageById } from '../queries.js';
import type { DeliveryRecord } from './deliveries.js';

/** The deliveries that a client may see at one place: those of an organisation, of some events. */
export interface DeliveryScope {
  org: string;
  events: readonly CallbackEvent[];
  /** For the events of one crew. */
  crew?: string;
}

export type ClientDeliveries = ReturnType<typeof createClientDeliveries>;

/** Projection: a delivery without its body and its attempts. */
const SUMMARY = {
  message: 0,
  attempt_log: 0,
  'payload.event': 0,
  'payload.tenant_id': 0,
  'payload.sub_tenant_id': 0,
  'payload.timestamp': 0,
} as const;

/** Ids are made before their records, in transactions that may be repeated for a while. */
const ID_MARGIN_MS = 60 * 60 * 1000;

/** Deliveries as clients list, read and retry them. */
export function createClientDeliveries({ deliveries }: Access<'deliveries'>) {
  return {
    /** @returns null when the delivery is unknown, or outside the scope */
    find(scope: DeliveryScope, deliveryId: string): Promise<DeliveryRecord | null> {
      return deliveries.forOrg(scope.org).findOne({ ...matching(scope), _id: deliveryId });
    },

    /** @returns one page, newest first, without bodies and attempts */
    list(scope: DeliveryScope, filter: DeliveryFilter, page: PageQuery): Promise<DeliveryRecord[]> {
      // An absent filter is the list of all values, so that one index serves every combination.
      const matches = { ...matching(scope, filter), status: filter.status ?? { $in: DELIVERY_STATES } };
      return newestFirst(deliveries.forOrg(scope.org), matches, page).project<DeliveryRecord>(SUMMARY).toArray();
    },

    /** @returns the number of deliveries that match and can be retried */
    countRetryable(scope: DeliveryScope, filter: DeliveryFilter): Promise<number> {
      return deliveries.forOrg(scope.org).countDocuments(retryable(scope, filter));
    },

    /** @returns one page of the deliveries that match and can be retried, oldest first */
    listRetryable(scope: DeliveryScope, filter: DeliveryFilter, page: PageQuery): Promise<DeliveryRecord[]> {
      const found = pageById(deliveries.forOrg(scope.org), retryable(scope, filter), page, 1);
      return found.project<DeliveryRecord>(SUMMARY).toArray();
    },

    /**
     * failed | permanently_failed -> pending, and due at once, with a workflow. A failed delivery keeps the rest of its retry
     * schedule, a permanently failed delivery restarts it.
     * @returns false when the delivery is in another state, which does not change
     */
    async requeue(scope: DeliveryScope, deliveryId: string, tx?: ClientSession): Promise<boolean> {
      const { modifiedCount } = await markRequeued(scope, { _id: deliveryId }, true, tx);
      return modifiedCount === 1;
    },

    /**
     * The same for many deliveries, which get no new workflows.
     * @returns the number of deliveries that changed; others are in another state by now
     */
    async requeueAll(scope: DeliveryScope, deliveryIds: readonly string[]): Promise<number> {
      if (deliveryIds.length === 0) return 0;
      // The workflow of a failed delivery waits for its next attempt.
      const waits = { $and: ['$has_workflow', { $eq: ['$status', 'failed'] }] };
      return (await markRequeued(scope, { _id: { $in: [...deliveryIds] } }, waits)).modifiedCount;
    },
  };

  function markRequeued(
    scope: DeliveryScope,
    ids: OwnFilter<DeliveryRecord>,
    has_workflow: true | Document,
    tx?: ClientSession,
  ) {
    const change: Document = {
      failures: { $cond: [{ $eq: ['$status', 'permanently_failed'] }, 0, '$failures'] },
      // Null in the final state `permanently_failed`.
      automatic_attempt_at: '$next_attempt_at',
      status: 'pending',
      next_attempt_at: '$$NOW',
      has_workflow,
      check_at: { $cond: [has_workflow, '$$NOW', null] },
      expires_at: null,
      updated_at: '$$NOW',
    };
    const filter = { ...retryable(scope), ...ids };
    return deliveries.forOrg(scope.org).updateMany(filter, [{ $set: change }], { session: tx });
  }
}

function retryable(scope: DeliveryScope, filter: DeliveryFilter = {}): OwnFilter<DeliveryRecord> {
  const states = RETRYABLE_DELIVERY_STATES.filter((state) => filter.status === undefined || state === filter.status);
  return { ...matching(scope, filter), status: { $in: [...states] } };
}

/** All that a scope and a filter say, except for the state. MongoDB's driver leaves out what is undefined. */
function matching({ events, crew }: DeliveryScope, filter: DeliveryFilter = {}): OwnFilter<DeliveryRecord> {
  const { doc_id, database, collection, error_code, item_error_code, from, to } = filter;
  return {
    event_type: events.length === 1 ? events[0] : { $in: [...events] },
    crew,
    doc_id,
    'payload.database': database,
    'payload.collection': collection,
    error_code,
    'payload.error_code': item_error_code,
    ...createdBetween(from, to),
  } as OwnFilter<DeliveryRecord>;
}

/** A period as a range of creation times, and as a range of ids, which an index serves. */
function createdBetween(from: Date | undefined, to: Date | undefined): Document {
  if (!from && !to) return {};
  const range = (low: unknown, high: unknown) => ({
    ...(from ? { $gte: low } : {}),
    ...(to ? { $lt: high } : {}),
  });
  const idAt = (time: Date | undefined, change: number) => time && lowestDeliveryId(time.getTime() + change);
  return { created_at: range(from, to), _id: range(idAt(from, -ID_MARGIN_MS), idAt(to, ID_MARGIN_MS)) };
}
