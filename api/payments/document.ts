import { z } from 'zod';
import { SDK_NEXT_ACTIONS } from '../../domain/payments/authentications.js';
import { ENDED_AUTHENTICATION_STATES } from '../../domain/payments/states.js';
import { AUTHENTICATION_ENDED } from '../../domain/webhooks/events.js';
import { describeCallback } from '../callback-document.js';
import { plainEnvelope } from '../envelope.js';
import { operations } from '../operation.js';
import type { ServiceDocument } from '../service.js';
import { signatureHeaders } from '../webhooks/signing-secret.js';

export const paymentOperation = operations('Payment authentication', plainEnvelope);

const endedEventSchema = z.object({
  event: z.literal(AUTHENTICATION_ENDED),
  delivery_id: z.string(),
  authentication_id: z.string(),
  status: z.enum(ENDED_AUTHENTICATION_STATES),
  amount: z.int(),
  currency: z.string(),
  sdk_next_action: z
    .enum(SDK_NEXT_ACTIONS)
    .nullable()
    .meta({ description: 'The result of the check; null without one.' }),
  timestamp: z.iso.datetime(),
});

export const paymentDocument: ServiceDocument = {
  tags: [
    {
      name: 'Payment authentication',
      description: "The customer's browser submits the eligibility check; the merchant's server uses the other routes.",
    },
  ],
  webhooks: {
    [AUTHENTICATION_ENDED]: describeCallback({
      operationId: 'authenticationEnded',
      summary: 'An authentication has ended',
      description:
        'Sent to the `webhook_url` of the authentication, which was closed or has expired. A callback may arrive more than ' +
        'once: deduplicate by `delivery_id`. It is retried like a webhook of the content service.',
      headers: signatureHeaders,
      body: endedEventSchema,
    }),
  },
  security: {
    name: 'payment_key',
    scheme: {
      type: 'apiKey',
      in: 'header',
      name: 'api-key',
      description:
        'A key of kind `payment_secret`. Browsers use a key of kind `payment_publishable` for the eligibility check.',
    },
  },
};
