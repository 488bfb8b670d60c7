import type Router from '@koa/router';
import type { Middleware } from 'koa';
import { authenticate } from '../authenticate.js';
import type { Dependencies } from '../dependencies.js';
import { paymentErrors } from '../envelope.js';
import { jsonBody } from '../json-body.js';
import type { RequestState } from '../request-context.js';
import { routesOf, type Service } from '../service.js';
import { signingSecretRoutes } from '../webhooks/signing-secret.js';
import { authenticationRoutes } from './authentications.js';
import { paymentDocument, paymentOperation } from './document.js';
import { eligibilityCheckRoutes } from './eligibility-check.js';

/** Enough for fifty metadata fields of maximum length. */
const MAX_CREATE_BYTES = 256 * 1024;

/** Payment authentication: browsers submit the eligibility check, the merchant's server uses the other routes. */
export function paymentService(deps: Dependencies): Service {
  return {
    paths: ['/authentication'],
    errors: paymentErrors,
    document: paymentDocument,
    middleware: [
      neverCached,
      routesOf(eligibilityCheckRoutes(deps)),
      authenticate(deps.keys, ['payment_secret'], 'api-key'),
      // After the eligibility check: publishable keys are public, so each address has a limit of its own there.
      deps.rateLimit,
      jsonBody(MAX_CREATE_BYTES),
      routesOf(paymentSigningSecretRoutes(deps)),
      routesOf(authenticationRoutes(deps)),
    ],
  };
}

/** The secret that signs the callbacks of an organisation's authentications. */
function paymentSigningSecretRoutes(deps: Dependencies): Router<RequestState> {
  return signingSecretRoutes({
    prefix: '/authentication/signing-secret',
    operation: paymentOperation,
    name: 'the signing secret for authentications',
    signed: 'authentications',
    description: 'Signs the callbacks to `webhook_url`.',
    set: (org, secret) => deps.paymentSigningSecrets.set(org, secret),
  });
}

/** Responses have secrets, and `sdk_next_action` changes over time. */
const neverCached: Middleware<RequestState> = async (ctx, next) => {
  ctx.set('Cache-Control', 'no-store');
  await next();
};
