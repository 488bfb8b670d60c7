import Router from '@koa/router';
import type { PaymentSigningSecrets } from '../../storage/payments/signing-secrets.js';
import type { RequestState } from '../request-context.js';
import { setSecret, setSecretOperation } from '../webhooks/signing-secret.js';
import { paymentOperation } from './document.js';

/** The secret that signs the callbacks of an organisation's authentications. */
export function paymentSigningSecretRoutes({
  paymentSigningSecrets,
}: {
  paymentSigningSecrets: PaymentSigningSecrets;
}): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/authentication/signing-secret' });

  router.post(
    '/',
    paymentOperation(
      setSecretOperation(
        'Set or generate the signing secret for authentications',
        'authentications',
        'Signs the callbacks to `webhook_url`.',
      ),
      setSecret((org, secret) => paymentSigningSecrets.set(org, secret)),
    ),
  );

  return router;
}
