import { z } from 'zod';
import { FINAL_INDEXING_STATUSES } from '../content/states.js';

/** Events of crew executions. */
export const CREW_EVENTS = [
  'task_completed',
  'task_pending_human_input',
  'step',
  'crew_completed',
  'crew_failed',
] as const;
export type CrewEvent = (typeof CREW_EVENTS)[number];

/** The event of a payment authentication that was closed or has expired. */
export const AUTHENTICATION_ENDED = 'authentication.ended';

/** A notice to the operator. No organisation sees it. */
export const OPERATOR_NOTICE = 'operator.notice';

/** All events that Postback delivers. One workflow delivers them all; the delivery policy differs by event. */
export const CALLBACK_EVENTS = [
  'indexing.status_changed',
  'async_job_completed',
  AUTHENTICATION_ENDED,
  ...CREW_EVENTS,
  OPERATOR_NOTICE,
] as const;
export type CallbackEvent = (typeof CALLBACK_EVENTS)[number];

/** Events that a webhook registration can subscribe to. */
export const EVENT_TYPES = ['indexing.status_changed'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** The body of an indexing webhook, with the fields and their order from the specification ("Webhook payload"). */
export const indexingEventSchema = z
  .object({
    event: z.enum(EVENT_TYPES),
    delivery_id: z.string(),
    id: z.string(),
    database: z.string(),
    collection: z.string(),
    /** Deprecated: the database's internal id. */
    tenant_id: z.string(),
    /** Deprecated: exact alias of `collection`. */
    sub_tenant_id: z.string(),
    status: z.enum(FINAL_INDEXING_STATUSES),
    timestamp: z.iso.datetime(),
    version: z.int().meta({
      description:
        'The version of the item: a replacement has a higher one. The end of a replaced version is not announced after it.',
    }),
    error_code: z.string().optional(),
    error_message: z.string().optional(),
    test: z.literal(true).optional(),
  })
  .meta({ id: 'IndexingEvent' });
export type IndexingEvent = z.infer<typeof indexingEventSchema>;

/**
 * The payload of a test delivery: a fixed item, with the organisation as database and collection (specification, "Test
 * delivery payload").
 */
export function testEvent(deliveryId: string, org: string, now: Date): IndexingEvent {
  return {
    event: 'indexing.status_changed',
    delivery_id: deliveryId,
    id: 'test_item',
    database: org,
    collection: org,
    tenant_id: org,
    sub_tenant_id: org,
    status: 'completed',
    timestamp: now.toISOString(),
    version: 1,
    test: true,
  };
}
