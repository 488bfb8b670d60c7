/** Responses of the routes for deliveries. */
import { z } from 'zod';
import { DELIVERY_STATES, INDEXING_STATUSES } from '../../domain/states.js';
import { indexingEventSchema } from '../../domain/webhooks/events.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { workflowIds } from '../../temporal/workflow-ids.js';
import { pageFields } from '../pagination.js';

const time = z.iso.datetime();
const message = z.string();

const deliverySchema = z
  .object({
    delivery_id: z.string(),
    doc_id: z.string().meta({
      description: 'The id of the item, which is `id` in the payload; of a callback, of the job or execution.',
    }),
    status: z.enum(DELIVERY_STATES),
    indexing_status: z.enum(INDEXING_STATUSES).nullable(),
    event_type: z.string(),
    attempts: z.int(),
    error_code: z.string().nullable().meta({ description: 'Why the last attempt failed, such as `HTTP_503`.' }),
    error_message: z.string().nullable(),
    item_error_code: z.string().nullable().meta({ description: 'Why the item failed, such as `E2001`.' }),
    item_error_message: z.string().nullable(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Delivery' });

export const deliveryListSchema = z.object({
  deliveries: z.array(deliverySchema).meta({ description: 'Newest first.' }),
  ...pageFields,
});

export const deliveryDetailSchema = deliverySchema
  .extend({
    url: z.string().nullable().meta({ description: 'The URL of the last attempt.' }),
    payload: z
      .union([indexingEventSchema, z.record(z.string(), z.unknown())])
      .nullable()
      .meta({ description: 'The body. Null for a job, whose callback has the body of `GET /v3/ai/async/{job_id}`.' }),
    attempt_log: z.array(
      z
        .object({
          at: time,
          status_code: z.int().nullable(),
          duration_ms: z.number(),
          error: z.string().nullable(),
          answer: z.string().nullable().meta({ description: "The first KiB of the receiver's response." }),
        })
        .meta({ id: 'DeliveryAttempt' }),
    ),
    next_attempt_at: time.nullable(),
    workflow: z
      .string()
      .meta({ description: 'For operators: the id of the workflow in Temporal that sends the delivery.' }),
  })
  .meta({ id: 'DeliveryDetail' });

export const deliveryQueuedSchema = z.object({ delivery_id: z.string(), queued: z.literal(true), message });

/** A delivery in a list. */
export function describeDelivery(record: DeliveryRecord) {
  return {
    delivery_id: record._id,
    doc_id: record.doc_id,
    status: record.status,
    indexing_status: record.indexing_status,
    event_type: record.event_type,
    attempts: record.attempts,
    error_code: record.error_code,
    error_message: record.error_message,
    item_error_code: record.payload?.error_code ?? null,
    item_error_message: record.payload?.error_message ?? null,
    created_at: record.created_at.toISOString(),
    updated_at: record.updated_at.toISOString(),
  };
}

/** A delivery with its body and its attempts. */
export function describeDeliveryDetail(record: DeliveryRecord) {
  const { message } = record;
  return {
    ...describeDelivery(record),
    url: record.url,
    payload: message ? (JSON.parse(message.body) as Record<string, unknown>) : record.payload,
    attempt_log: record.attempt_log.map((entry) => ({ ...entry, at: entry.at.toISOString() })),
    next_attempt_at: record.next_attempt_at?.toISOString() ?? null,
    workflow: typeof record.lane === 'number' ? workflowIds.lane(record.lane) : workflowIds.delivery(record._id),
  };
}
