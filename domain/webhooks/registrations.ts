import { z } from 'zod';
import { callbackUrlSchema } from '../callback-url.js';
import { EVENT_TYPES } from './events.js';

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
  })
  .refine((body) => !(body.signing_secret !== undefined && body.generate_signing_secret !== undefined), {
    message: 'signing_secret and generate_signing_secret are mutually exclusive',
    path: ['generate_signing_secret'],
  })
  .meta({ not: { required: ['signing_secret', 'generate_signing_secret'] } });

/** The request that sets the signing secret; without a secret, the service generates one. */
export const signingSecretRequestSchema = z.object({ signing_secret: secretSchema.optional() });
