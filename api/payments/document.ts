import { plainEnvelope } from '../envelope.js';
import { operations } from '../operation.js';
import type { ServiceDocument } from '../service.js';

export const paymentOperation = operations('Payment authentication', plainEnvelope);

export const paymentDocument: ServiceDocument = {
  tags: [
    {
      name: 'Payment authentication',
      description: "The eligibility check is for the customer's browser, everything else for the merchant's server.",
    },
  ],
  security: {
    name: 'payment_key',
    scheme: {
      type: 'apiKey',
      in: 'header',
      name: 'api-key',
      description: 'A key of kind `payment_secret`; in browsers, for the eligibility check, `payment_publishable`.',
    },
  },
  errors: ['INVALID_PARAMETERS', 'UNAUTHORIZED', 'RATE_LIMITED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'],
};
