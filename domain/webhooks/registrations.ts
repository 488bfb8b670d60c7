/** Registrations of webhooks: the requests, and how long a receiver may fail before its webhook is disabled. */
import { z } from 'zod';
import { DAY_MS } from './delivery-policy.js';
import { EVENT_TYPES } from './events.js';
import { staticHeadersSchema } from './static-headers.js';

/** Characters. */
const MAX_URL_LENGTH = 2_048;

/**
 * The URL of a receiver that a client names. The schema checks its size; `rejectBlockedUrl` checks the rest, which needs
 * the name to be resolved.
 */
export const callbackUrlSchema = z
  .string()
  .max(MAX_URL_LENGTH)
  .meta({ format: 'uri', description: 'An https URL that is reachable from the public internet.' });

/** A receiver that takes more needs no limit. */
const MAX_RATE = 1_000;

const secretSchema = z.string().min(16, 'must have at least 16 characters').max(1024);

/** The request that registers a webhook. */
export const registrationRequestSchema = z
  .object({
    url: callbackUrlSchema,
    event_types: z
      .array(z.enum(EVENT_TYPES))
      .min(1)
      .default([...EVENT_TYPES]),
    signing_secret: secretSchema.optional(),
    generate_signing_secret: z.boolean().optional(),
    headers: staticHeadersSchema.optional().meta({
      description:
        `${staticHeadersSchema.description} Without this field those of the registration before are kept, as long as the ` +
        'origin of the URL stays the same; `{}` removes them.',
    }),
    max_per_second: z.int().min(1).max(MAX_RATE).optional().meta({
      description: 'Requests that the receiver gets in a second, at most. Without it there is no such limit.',
    }),
  })
  .refine((body) => !(body.signing_secret !== undefined && body.generate_signing_secret !== undefined), {
    message: 'signing_secret and generate_signing_secret are mutually exclusive',
    path: ['generate_signing_secret'],
  })
  .meta({ not: { required: ['signing_secret', 'generate_signing_secret'] } });

/** The request that sets the signing secret; without a secret, the service generates one. */
export const signingSecretRequestSchema = z
  .object({ signing_secret: secretSchema.optional(), generate_signing_secret: z.boolean().optional() })
  .refine((body) => body.signing_secret === undefined || !body.generate_signing_secret, {
    message: 'signing_secret and generate_signing_secret are mutually exclusive',
    path: ['generate_signing_secret'],
  })
  .meta({
    not: {
      required: ['signing_secret', 'generate_signing_secret'],
      properties: { generate_signing_secret: { const: true } },
    },
  });

/** Failed attempts at one receiver without a success in between. Attempts in quick succession count once. */
export interface FailureStreak {
  since: Date;
  /** The latest failure that was counted. */
  latest: Date;
  count: number;
}

const HOUR_MS = DAY_MS / 24;
/** One delivery that is given up counts for at most five, so a receiver must fail for more than one event. */
const MIN_COUNT = 6;
/** After a longer pause without an attempt nobody knows whether the receiver failed, so a new streak begins. */
const MAX_PAUSE_MS = 26 * HOUR_MS;

/**
 * @param afterMs how long a streak must last until the webhook is disabled; null: it never is
 * @returns the streak with this failure; the same streak when the failure does not count
 */
export function addFailure(streak: FailureStreak | null, now: Date, afterMs: number | null): FailureStreak {
  const pause = streak === null ? Number.POSITIVE_INFINITY : now.getTime() - streak.latest.getTime();
  if (streak === null || pause > MAX_PAUSE_MS) return { since: now, latest: now, count: 1 };
  const countedPause = Math.min(HOUR_MS, (afterMs ?? DAY_MS) / (2 * MIN_COUNT));
  return pause < countedPause ? streak : { ...streak, latest: now, count: streak.count + 1 };
}

/** Whether the receiver has failed all the time for so long, and not just a few times far apart. */
export function isSustained({ since, count }: FailureStreak, now: Date, afterMs: number): boolean {
  return count >= MIN_COUNT && now.getTime() - since.getTime() >= afterMs;
}
