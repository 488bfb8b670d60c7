import Router from '@koa/router';
import type { z } from 'zod';
import { ServiceError } from '../../domain/errors.js';
import { newSigningSecret, newTestDeliveryId } from '../../domain/ids.js';
import { testEvent } from '../../domain/webhooks/events.js';
import { webhookHeaders } from '../../domain/webhooks/headers.js';
import { registrationRequestSchema } from '../../domain/webhooks/registrations.js';
import type { RegistrationRecord } from '../../storage/webhooks/registrations.js';
import { contentOperations } from '../content-operations.js';
import type { Dependencies } from '../dependencies.js';
import { requireScope } from '../operation.js';
import type { RequestState } from '../request-context.js';
import { showRequest } from '../sent-requests.js';
import { rejectBlockedUrl } from '../validation.js';
import { describeRegistration, registeredSchema, registrationSchema, testDeliverySchema } from './responses.js';
import { deletedSchema, signingSecretRoutes } from './signing-secret.js';

const operation = contentOperations('Webhooks');

/** The webhook registration of an organisation, its signing secret, and test deliveries. */
export function registrationRoutes(deps: Dependencies): Router<RequestState> {
  const { registrations, outbound } = deps;
  const router = new Router<RequestState>({ prefix: '/webhooks/indexing' });

  router.post(
    '/',
    operation(
      {
        summary: 'Register a webhook',
        description:
          'Replaces an existing registration. A stored signing secret is kept unless the request sets or generates a new one. A ' +
          'generated secret is returned only once. To set or generate a secret, the key also needs the scope `admin`.',
        body: registrationRequestSchema,
        example: {
          url: 'https://example.com/hooks/indexing',
          generate_signing_secret: true,
          headers: { Authorization: 'Bearer a-token-of-your-gateway' },
          max_per_second: 20,
        },
        response: registeredSchema,
        audit: { actions: ['webhook.registered'], about: (_, body) => ({ subject: { name: describeReceiver(body) } }) },
      },
      async (ctx, { org, body, respond }) => {
        if (setsSecret(body)) requireScope(ctx.state.principal, 'admin');
        await rejectBlockedUrl(outbound, 'url', body.url);
        const generated = body.generate_signing_secret ? newSigningSecret() : undefined;
        const secret = generated ?? body.signing_secret;
        const { headers, max_per_second } = body;
        const options = { headers, max_per_second };
        const record = await registrations.register(org, body.url, body.event_types, secret, options);
        respond({
          ...describeRegistration(record),
          ...(generated === undefined ? {} : { signing_secret: generated }),
          message:
            generated === undefined
              ? 'Webhook registered.'
              : 'Webhook registered. Store the signing secret now: it cannot be read again.',
        });
      },
    ),
  );

  router.get(
    '/',
    operation({ summary: 'Get the registration', response: registrationSchema }, async (_ctx, { org, respond }) =>
      respond(describeRegistration(await registrations.findForOrg(org))),
    ),
  );

  router.delete(
    '/',
    operation(
      {
        summary: 'Delete the registration and its signing secret',
        scope: 'admin',
        response: deletedSchema,
        audit: {
          actions: ['webhook.deleted'],
          about: () => ({ subject: {} }),
          learn: ({ deleted }) => (deleted ? {} : { name: 'there was none' }),
        },
      },
      async (_ctx, { org, respond }) => {
        const deleted = await registrations.remove(org);
        respond({ deleted, message: deleted ? 'Webhook and signing secret deleted.' : 'No webhook was registered.' });
      },
    ),
  );

  router.post(
    '/disable',
    operation(
      {
        summary: 'Disable the webhook',
        description:
          'Nothing is sent until the webhook is registered again, which keeps its secret and its headers. Deliveries that are due ' +
          'meanwhile end as `permanently_failed` with the code `WEBHOOK_DISABLED`, and can be retried.',
        response: registrationSchema,
        errors: ['WEBHOOK_NOT_FOUND'],
        audit: { actions: ['webhook.disabled'], about: () => ({ subject: {} }) },
      },
      async (_ctx, { org, respond }) => {
        const record = await registrations.disable(org, 'The organisation has disabled it.');
        if (!record) throw noWebhook();
        respond(describeRegistration(record));
      },
    ),
  );

  const signingSecret = signingSecretRoutes({
    prefix: '/signing-secret',
    operation,
    name: 'the signing secret',
    signed: 'indexing webhooks',
    errors: ['WEBHOOK_NOT_FOUND'],
    async set(org, secret) {
      if (!(await registrations.setSecret(org, secret))) throw noWebhook();
    },
    removal: {
      message: 'Signing secret deleted; deliveries are unsigned.',
      async remove(org) {
        const before = await registrations.findForOrg(org);
        if (!before || !(await registrations.setSecret(org, null))) throw noWebhook();
        return before.sealed_secret !== null;
      },
    },
  });
  router.use(signingSecret.routes());

  router.post(
    '/test',
    operation(
      {
        summary: 'Send a test delivery',
        description: 'Sends one request to the registered URL, and returns it with the response of the receiver.',
        response: testDeliverySchema,
        errors: ['WEBHOOK_NOT_FOUND'],
      },
      async (_ctx, { org, respond }) => {
        const registration = await registrations.findForOrg(org);
        if (!registration) throw noWebhook();
        respond(await sendTestDelivery(deps, registration));
      },
    ),
  );

  return router;
}

/** The host only: the path and the query of a receiver may hold a token. */
function describeReceiver(body: z.output<typeof registrationRequestSchema>): string {
  // A text that is no URL is rejected later.
  const host = URL.canParse(body.url) ? new URL(body.url).host : '';
  return setsSecret(body) ? `${host}, with a new signing secret` : host;
}

function setsSecret({ generate_signing_secret, signing_secret }: z.output<typeof registrationRequestSchema>): boolean {
  return generate_signing_secret === true || signing_secret !== undefined;
}

function noWebhook(): ServiceError {
  return new ServiceError('WEBHOOK_NOT_FOUND', 'No webhook is registered.');
}

/** Sends the test payload once, signed like every delivery. It is not retried and leaves no record. */
async function sendTestDelivery(
  { registrations, outbound, timeoutMs }: Dependencies,
  registration: RegistrationRecord,
): Promise<z.input<typeof testDeliverySchema>> {
  const now = new Date();
  const { url } = registration;
  const event = testEvent(newTestDeliveryId(), registration._id, now);
  const body = Buffer.from(JSON.stringify(event));
  const own = webhookHeaders(event, body, registrations.openSecrets(registration), now);
  const headers = { ...registrations.openHeaders(registration), ...own };
  const request = showRequest(url, own, body, registration.headers?.names);
  const started = performance.now();
  try {
    const limits = { timeoutMs, maxResponseBytes: 1024, excerpt: true };
    const answer = await outbound.send({ method: 'POST', url, headers, body, ...limits });
    const { status } = answer;
    const delivered = status >= 200 && status < 300;
    return {
      delivered,
      status_code: status,
      message: delivered ? 'The receiver accepted the test delivery.' : `The receiver responded with status ${status}.`,
      request,
      response: {
        status_code: status,
        duration_ms: Math.round(performance.now() - started),
        headers: answer.headers,
        body: answer.body.toString('utf8'),
      },
    };
  } catch (error) {
    return { delivered: false, status_code: 0, message: (error as Error).message, request, response: null };
  }
}
