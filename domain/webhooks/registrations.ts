import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { EVENT_TYPES } from './events.js';

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
