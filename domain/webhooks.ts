import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { TERMINAL_INDEXING_STATUSES } from './states.js';

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

/** `X-Service-Signature`: HMAC-SHA256 of the body's bytes, lower-case hex, with its prefix. */
export function signatureHeader(body: Uint8Array, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

/** Headers of a webhook (specification, "Outbound webhook request"); unsigned when there is no secret. */
export function webhookHeaders(
  event: { delivery_id: string; event: string },
  body: Uint8Array,
  secret: string | null,
): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'X-Service-Delivery-ID': event.delivery_id,
    'X-Service-Event': event.event,
    ...(secret === null ? {} : { 'X-Service-Signature': signatureHeader(body, secret) }),
  };
}

const secretSchema = z.string().min(16, 'must have at least 16 characters').max(1024);

export const registrationRequestSchema = z
  .object({
    url: z.string().max(2048),
    event_types: z
      .array(z.enum(EVENT_TYPES))
      .min(1)
      .default([...EVENT_TYPES]),
    signing_secret: secretSchema.optional(),
    generate_signing_secret: z.boolean().optional(),
  })
  .refine((body) => !(body.signing_secret !== undefined && body.generate_signing_secret !== undefined), {
    message: 'signing_secret and generate_signing_secret are mutually exclusive',
    path: ['generate_signing_secret'],
  });

export const signingSecretRequestSchema = z.object({ signing_secret: secretSchema.optional() });

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
