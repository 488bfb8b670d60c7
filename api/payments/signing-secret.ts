import Router from '@koa/router';
import type { PaymentSigningSecrets } from '../../storage/payments/signing-secrets.js';
import type { RequestState } from '../request-context.js';
import { chooseSecret, setSecretOperation } from '../webhooks/signing-secret.js';
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
        'Signs the callbacks to `webhook_url`.',
      ),
      async (ctx, { body, respond }) => {
        const { secret, response } = chooseSecret(body.signing_secret);
        await paymentSigningSecrets.set(ctx.state.principal.org, secret);
        respond(response);
      },
    ),
  );

  return router;
}
