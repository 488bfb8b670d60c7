import { z } from 'zod';
import { sha256Hex } from '../ids.js';
import { TERMINAL_INDEXING_STATUSES } from '../states.js';

/** What the executions of crews announce. */
export const CREW_EVENTS = [
  'task_completed',
  'task_pending_human_input',
  'step',
  'crew_completed',
  'crew_failed',
] as const;
export type CrewEvent = (typeof CREW_EVENTS)[number];

/** What Postback announces, whoever receives it. Each event is delivered by the same workflow, under its own rules. */
export const CALLBACK_EVENTS = ['indexing.status_changed', 'async_job_completed', ...CREW_EVENTS] as const;
export type CallbackEvent = (typeof CALLBACK_EVENTS)[number];

/**
 * Names the receiver behind an address where an organisation may have many, so that one that hangs is told apart from
 * the others, and from other organisations' at the same place. A hash, because it may be read where addresses may not.
 */
export function receiverKey(org: string, url: string): string {
  return sha256Hex(`${org} ${new URL(url).origin}`).slice(0, 16);
}
/** The one event of the content service. */
export const EVENT_TYPES = ['indexing.status_changed'] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** The body of an indexing webhook, field for field as the specification lists it. */
export const indexingEventSchema = z.object({
  event: z.enum(EVENT_TYPES),
  delivery_id: z.string(),
  id: z.string(),
  database: z.string(),
  collection: z.string(),
  /** Deprecated: the database's internal id. */
  tenant_id: z.string(),
  /** Deprecated: exact alias of `collection`. */
  sub_tenant_id: z.string(),
  status: z.enum(TERMINAL_INDEXING_STATUSES),
  timestamp: z.iso.datetime(),
  error_code: z.string().optional(),
  error_message: z.string().optional(),
  test: z.literal(true).optional(),
});

export type IndexingEvent = z.infer<typeof indexingEventSchema>;

/** The fixed item of a test delivery; everything that names a place carries the organisation (specification). */
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
    test: true,
  };
}
