/** What the routes about the registration answer. */
import { z } from 'zod';
import { EVENT_TYPES } from '../../domain/webhooks/events.js';
import type { RegistrationRecord } from '../../storage/webhooks/registrations.js';

const time = z.iso.datetime();
const message = z.string();

export const registrationSchema = z.object({
  registered: z.boolean(),
  url: z.string().nullable(),
  event_types: z.array(z.enum(EVENT_TYPES)),
  signing_secret_configured: z.boolean(),
  disabled_at: time.nullable().meta({ description: 'Since when nothing is sent any more; registering again ends it.' }),
  disabled_reason: z.string().nullable(),
});

const shownOnce = z.string().optional().meta({ description: 'Only when it was generated; it cannot be read again.' });

export const registeredSchema = registrationSchema.extend({ signing_secret: shownOnce, message });

export const signingSecretSchema = z.object({ generated: z.boolean(), signing_secret: shownOnce, message });

export const deletedSchema = z.object({ deleted: z.boolean(), message });

export const testDeliverySchema = z.object({
  delivered: z.boolean(),
  status_code: z.int().nullable().meta({ description: "The receiver's status; null when it gave none." }),
  message,
});

/** The registration as its owner sees it, or that there is none. */
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
