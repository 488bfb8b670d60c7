import { plainEnvelope } from '../envelope.js';
import { operations } from '../operation.js';
import type { ServiceDocument } from '../service.js';

export const paymentOperation = operations('Payment authentication', plainEnvelope);

export const paymentDocument: ServiceDocument = {
  tags: [
    {
      name: 'Payment authentication',
      description: "The customer's browser submits the eligibility check; the merchant's server uses the other routes.",
    },
  ],
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
  errors: ['INVALID_PARAMETERS', 'UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMITED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'],
};
