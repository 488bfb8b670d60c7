import type { Middleware } from 'koa';
import type { ApiKeys } from '../../storage/api-keys.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import type { Authentications } from '../../storage/payments/authentications.js';
import type { RateLimit } from '../../storage/rate-limits.js';
import { paymentErrors } from '../envelope.js';
import { jsonBody } from '../json-body.js';
import type { RequestState } from '../request-context.js';
import { routesOf, type Service } from '../service.js';
import { requireSecretKey } from './authenticate.js';
import { authenticationRoutes } from './authentications.js';
import { paymentDocument } from './document.js';
import { eligibilityCheckRoutes } from './eligibility-check.js';

export interface PaymentDependencies {
  keys: ApiKeys;
  authentications: Authentications;
  /** Requests about one authentication. */
  authenticationLimit: RateLimit;
  idempotencyKeys: IdempotencyKeys;
  rateLimit: Middleware<RequestState>;
}

/** Fifty metadata fields at their limits come to less. */
const MAX_CREATE_BYTES = 256 * 1024;

/** Payment authentication: the eligibility check is for browsers, everything behind it for the merchant's server. */
export function paymentService(deps: PaymentDependencies): Service {
  return {
    paths: ['/authentication'],
    errors: paymentErrors,
    document: paymentDocument,
    middleware: [
      neverCached,
      routesOf(eligibilityCheckRoutes(deps)),
      requireSecretKey(deps.keys),
      // Not before: a publishable key is in everyone's hands, and must not be used up by one of them.
      deps.rateLimit,
      jsonBody(MAX_CREATE_BYTES),
      routesOf(authenticationRoutes(deps)),
    ],
  };
}

/** Answers carry secrets, and what the SDK does next changes with the time. */
const neverCached: Middleware<RequestState> = async (ctx, next) => {
  ctx.set('Cache-Control', 'no-store');
  await next();
};
