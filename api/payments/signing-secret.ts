import Router from '@koa/router';
import { signingSecretRequestSchema } from '../../domain/webhooks/registrations.js';
import type { PaymentSigningSecrets } from '../../storage/payments/signing-secrets.js';
import type { RequestState } from '../request-context.js';
import { chooseSecret, ROTATION_DESCRIPTION, signingSecretSchema } from '../webhooks/signing-secret.js';
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
      {
        summary: 'Set or generate the signing secret for authentications',
        scope: 'admin',
        description: `Signs the callbacks to \`webhook_url\`. ${ROTATION_DESCRIPTION}`,
        body: signingSecretRequestSchema,
        example: { signing_secret: 'at-least-16-characters' },
        status: 200,
        response: signingSecretSchema,
      },
      async (ctx, { body, respond }) => {
        const { secret, response } = chooseSecret(body.signing_secret);
        await paymentSigningSecrets.set(ctx.state.principal.org, secret);
        respond(response);
      },
    ),
  );

  return router;
}
