/** Responses of the routes for the registration, deliveries and bulk retries. */
import { z } from 'zod';
import { INDEXING_STATUSES } from '../../domain/content/states.js';
import { EVENT_TYPES } from '../../domain/webhooks/events.js';
import { DELIVERY_STATES, REPLAY_STATUSES } from '../../domain/webhooks/states.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { RegistrationRecord } from '../../storage/webhooks/registrations.js';
import { workflowIds } from '../../temporal/workflow-ids.js';
import { listSchema } from '../pagination.js';
import { pickFields } from '../pick-fields.js';
import { type SentRequest, sentRequestSchema } from '../sent-requests.js';
import { shownOnce } from './signing-secret.js';

const time = z.iso.datetime();
const message = z.string();

export const registrationSchema = z
  .object({
    registered: z.boolean(),
    url: z.string().nullable(),
    event_types: z.array(z.enum(EVENT_TYPES)),
    signing_secret_configured: z.boolean(),
    header_names: z
      .array(z.string())
      .meta({ description: 'The names of its static headers, whose values are not shown.' }),
    max_per_second: z.int().nullable(),
    disabled_at: time
      .nullable()
      .meta({ description: 'Since when no webhooks are sent. Register the webhook again to enable it.' }),
    disabled_reason: z.string().nullable(),
  })
  .meta({ id: 'WebhookRegistration' });

export const registeredSchema = registrationSchema.extend({ signing_secret: shownOnce, message });

export const testDeliverySchema = z
  .object({
    delivered: z.boolean(),
    status_code: z.int().meta({ description: "Status of the receiver's response; 0 without a response." }),
    message,
    request: sentRequestSchema,
    response: z
      .object({
        status_code: z.int(),
        duration_ms: z.int(),
        headers: z.record(z.string(), z.string()),
        body: z.string().meta({ description: 'Its first KiB.' }),
      })
      .nullable()
      .meta({ description: 'Null without a response.' }),
  })
  .meta({ id: 'TestDelivery' });

/** @param record null when no webhook is registered */
export function describeRegistration(record: RegistrationRecord | null) {
  return {
    registered: record !== null,
    url: record?.url ?? null,
    event_types: record?.event_types ?? [],
    signing_secret_configured: (record?.sealed_secret ?? null) !== null,
    header_names: record?.headers?.names ?? [],
    max_per_second: record?.max_per_second ?? null,
    disabled_at: record?.disabled_at?.toISOString() ?? null,
    disabled_reason: record?.disabled_reason ?? null,
  };
}

const deliverySchema = z
  .object({
    delivery_id: z.string(),
    doc_id: z.string().meta({
      description: 'The id of the item, which is `id` in the payload; of a callback, of the job or execution.',
    }),
    crew: z.string().optional().meta({ description: 'The crew of an execution.' }),
    status: z.enum(DELIVERY_STATES),
    indexing_status: z.enum(INDEXING_STATUSES).nullable(),
    event_type: z.string(),
    url: z
      .string()
      .nullable()
      .meta({ description: 'The receiver of the last attempt. Null before it, and for a key that may not read it.' }),
    attempts: z.int(),
    error_code: z.string().nullable().meta({ description: 'Why the last attempt failed, such as `HTTP_503`.' }),
    error_message: z.string().nullable(),
    item_error_code: z.string().nullable().meta({ description: 'Why the item failed, such as `E2001`.' }),
    item_error_message: z.string().nullable(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Delivery' });

export const deliveryListSchema = listSchema('deliveries', deliverySchema, 'Newest first.');

export const deliveryDetailSchema = deliverySchema
  .extend({
    payload: z.record(z.string(), z.unknown()).nullable().meta({
      description:
        'The body. Null for a job, whose callback has the body of `GET /v3/ai/async/{job_id}`, and for a key that may not read it.',
    }),
    request: sentRequestSchema.nullable().meta({
      description:
        'The last request, signed for its time with the current secret. Null before the first attempt, for a key that may not ' +
        'read it, and when its content is no longer stored.',
    }),
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
    workflow: z.string().nullable().meta({
      description:
        'For operators: the id of the workflow in Temporal that follows the delivery; null while it has none.',
    }),
  })
  .meta({ id: 'DeliveryDetail' });

export const deliveryQueuedSchema = z.object({ delivery_id: z.string(), queued: z.literal(true), message });

/** A delivery in a list; without address when the key may not read it. */
export function describeDelivery(record: DeliveryRecord, isReadable: boolean) {
  return pickFields(deliverySchema, {
    ...record,
    delivery_id: record._id,
    url: isReadable ? record.url : null,
    item_error_code: record.payload?.error_code ?? null,
    item_error_message: record.payload?.error_message ?? null,
  });
}

/**
 * A delivery with its attempts; without body, address and the receiver's answers when the key may not read them.
 * @param request its last request, for a key that may read it
 */
export function describeDeliveryDetail(record: DeliveryRecord, isReadable: boolean, request: SentRequest | null) {
  const { message } = record;
  const body = message ? (JSON.parse(message.body) as Record<string, unknown>) : record.payload;
  return {
    ...describeDelivery(record, isReadable),
    payload: isReadable ? body : null,
    request,
    attempt_log: record.attempt_log.map((entry) => ({
      ...entry,
      answer: isReadable ? entry.answer : null,
      at: entry.at.toISOString(),
    })),
    // While an attempt is in progress, its outcome decides.
    next_attempt_at: record.status === 'sweeping' ? null : (record.next_attempt_at?.toISOString() ?? null),
    workflow: record.has_workflow ? workflowIds.delivery(record._id) : null,
  };
}

const matching = z.int().meta({ description: 'Deliveries that matched when the retry was requested.' });

export const replayAcceptedSchema = z.object({
  replay_id: z.string().nullable().meta({ description: 'Null with `dry_run`.' }),
  matching,
  message,
});

export const replaySchema = z
  .object({
    replay_id: z.string(),
    status: z.enum(REPLAY_STATUSES),
    matching,
    requeued: z
      .int()
      .meta({ description: 'Deliveries that have been queued again; the lists show what became of them.' }),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Replay' });
