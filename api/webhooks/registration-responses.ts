/** Responses of the routes for the registration. */
import { z } from 'zod';
import { EVENT_TYPES } from '../../domain/webhooks/events.js';
import type { RegistrationRecord } from '../../storage/webhooks/registrations.js';
import { shownOnce } from './signing-secret.js';

const time = z.iso.datetime();
const message = z.string();

export const registrationSchema = z
  .object({
    registered: z.boolean(),
    url: z.string().nullable(),
    event_types: z.array(z.enum(EVENT_TYPES)),
    signing_secret_configured: z.boolean(),
    disabled_at: time
      .nullable()
      .meta({ description: 'Since when no webhooks are sent. Register the webhook again to enable it.' }),
    disabled_reason: z.string().nullable(),
  })
  .meta({ id: 'WebhookRegistration' });

export const registeredSchema = registrationSchema.extend({ signing_secret: shownOnce, message });

export const deletedSchema = z.object({ deleted: z.boolean(), message });

export const testDeliverySchema = z.object({
  delivered: z.boolean(),
  status_code: z.int().nullable().meta({ description: "Status of the receiver's response; null without a response." }),
  message,
});

/** @param record null when no webhook is registered */
export function describeRegistration(record: RegistrationRecord | null) {
  return {
    registered: record !== null,
    url: record?.url ?? null,
    event_types: record?.event_types ?? [],
    signing_secret_configured: (record?.sealed_secret ?? null) !== null,
    disabled_at: record?.disabled_at?.toISOString() ?? null,
    disabled_reason: record?.disabled_reason ?? null,
  };
}
