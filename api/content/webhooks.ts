import Router from '@koa/router';
import { ServiceError } from '../../domain/errors.js';
import { newSigningSecret } from '../../domain/ids.js';
import type { OutboundClient } from '../../domain/outbound.js';
import { registrationRequestSchema, signingSecretRequestSchema } from '../../domain/webhooks.js';
import type { RegistrationRecord } from '../../storage/records.js';
import type { Registrations } from '../../storage/registrations.js';
import type { RequestState } from '../context.js';
import { refuseBlocked } from '../refuse-blocked.js';
import { read } from '../validation.js';
import { answer } from './envelope.js';
import { sendTestDelivery } from './test-delivery.js';

export interface WebhookDependencies {
  registrations: Registrations;
  outbound: OutboundClient;
  /** Milliseconds a receiver has for its answer. */
  timeoutMs: number;
}

/** The one webhook registration of an organisation, its signing secret and the test delivery. */
export function webhookRoutes({ registrations, outbound, timeoutMs }: WebhookDependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/webhooks/indexing' });

  router.post('/', async (ctx) => {
    const request = read(registrationRequestSchema, ctx.request.body ?? {});
    await refuseBlocked(outbound, 'url', request.url);
    const generated = request.generate_signing_secret ? newSigningSecret() : undefined;
    const { org } = ctx.state.principal;
    const record = await registrations.replace(
      org,
      request.url,
      request.event_types,
      generated ?? request.signing_secret,
    );
    answer(ctx, 200, {
      ...described(record),
      ...(generated === undefined ? {} : { signing_secret: generated }),
      message:
        generated === undefined
          ? 'Webhook registered.'
          : 'Webhook registered. Store the signing secret now; it is not shown again.',
    });
  });

  router.get('/', async (ctx) => {
    answer(ctx, 200, described(await registrations.get(ctx.state.principal.org)));
  });

  router.delete('/', async (ctx) => {
    const deleted = await registrations.remove(ctx.state.principal.org);
    answer(ctx, 200, {
      deleted,
      message: deleted ? 'Webhook and signing secret removed.' : 'No webhook was registered.',
    });
  });

  router.post('/signing-secret', async (ctx) => {
    const { signing_secret } = read(signingSecretRequestSchema, ctx.request.body ?? {});
    const generated = signing_secret === undefined ? newSigningSecret() : undefined;
    if (!(await registrations.setSecret(ctx.state.principal.org, generated ?? signing_secret!))) throw noWebhook();
    answer(ctx, 200, {
      generated: generated !== undefined,
      ...(generated === undefined ? {} : { signing_secret: generated }),
      message:
        generated === undefined ? 'Signing secret stored.' : 'Store the signing secret now; it is not shown again.',
    });
  });

  router.delete('/signing-secret', async (ctx) => {
    const { org } = ctx.state.principal;
    const before = await registrations.get(org);
    if (!before || !(await registrations.setSecret(org, null))) throw noWebhook();
    const deleted = before.sealed_secret !== null;
    answer(ctx, 200, {
      deleted,
      message: deleted ? 'Deliveries go unsigned from now on.' : 'No signing secret was stored.',
    });
  });

  router.post('/test', async (ctx) => {
    const { org } = ctx.state.principal;
    const registration = await registrations.get(org);
    if (!registration) throw noWebhook();
    answer(ctx, 200, await sendTestDelivery(outbound, registration, registrations.secretOf(registration), timeoutMs));
  });

  return router;
}

function described(record: RegistrationRecord | null) {
  return {
    registered: record !== null,
    url: record?.url ?? null,
    event_types: record?.event_types ?? [],
    signing_secret_configured: (record?.sealed_secret ?? null) !== null,
    disabled_at: record?.disabled_at?.toISOString() ?? null,
    disabled_reason: record?.disabled_reason ?? null,
  };
}

function noWebhook(): ServiceError {
  return new ServiceError('WEBHOOK_NOT_FOUND', 'No webhook is registered.');
}
