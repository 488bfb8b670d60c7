import Router from '@koa/router';
import { ServiceError } from '../../domain/errors.js';
import { createAuthenticationSchema, isAuthenticationId, statusAt } from '../../domain/payments/authentications.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import type { AuthenticationRecord, Authentications } from '../../storage/payments/authentications.js';
import type { RateLimits } from '../rate-limit.js';
import type { RequestState } from '../request-context.js';
import { countRequest } from './authenticate.js';
import { paymentOperation } from './document.js';
import { authenticationSchema, createdSchema } from './responses.js';

/** Creating, reading and closing authentications, for the merchant's server. */
export function authenticationRoutes(deps: {
  authentications: Authentications;
  rateLimits: Pick<RateLimits, 'authentication'>;
  idempotencyKeys: IdempotencyKeys;
}): Router<RequestState> {
  const { authentications } = deps;
  const router = new Router<RequestState>({ prefix: '/authentication' });

  router.post(
    '/',
    paymentOperation(
      {
        summary: 'Create an authentication',
        body: createAuthenticationSchema,
        example: { amount: 1250, currency: 'EUR', return_url: 'https://shop.example/return' },
        status: 201,
        response: createdSchema,
        idempotencyKeys: deps.idempotencyKeys,
      },
      async (ctx, { body, respond }) => {
        const { record, clientSecret } = await authentications.create(ctx.state.principal.org, body, new Date());
        respond({
          authentication_id: record._id,
          // The only response that has it.
          client_secret: clientSecret,
          status: record.status,
          amount: record.amount,
          currency: record.currency,
          created_at: record.created_at.toISOString(),
          expires_at: record.expires_at.toISOString(),
        });
      },
    ),
  );

  const errors = ['AUTHENTICATION_NOT_FOUND'] as const;

  router.get(
    '/:id',
    paymentOperation(
      { summary: 'Get an authentication', status: 200, response: authenticationSchema, errors },
      async (ctx, { respond }) => {
        const now = new Date();
        const { org, id } = await countedId(ctx.state.principal.org, ctx.params.id!);
        const record = await authentications.findForOrg(org, id, now);
        if (!record) throw notFound();
        respond(await describeAuthentication(authentications, record, now));
      },
    ),
  );

  router.post(
    '/:id/close',
    paymentOperation(
      { summary: 'Close an authentication', status: 200, response: authenticationSchema, errors },
      async (ctx, { respond }) => {
        const now = new Date();
        const { org, id } = await countedId(ctx.state.principal.org, ctx.params.id!);
        const record = await authentications.close(org, id, now);
        if (!record) throw notFound();
        respond(await describeAuthentication(authentications, record, now));
      },
    ),
  );

  return router;

  /** @throws ServiceError AUTHENTICATION_NOT_FOUND for the id of no authentication, RATE_LIMITED */
  async function countedId(org: string, id: string): Promise<{ org: string; id: string }> {
    if (!isAuthenticationId(id)) throw notFound();
    await countRequest(deps.rateLimits.authentication, 'merchant', org, id);
    return { org, id };
  }
}

/** An authentication for the merchant's server. */
async function describeAuthentication(authentications: Authentications, record: AuthenticationRecord, now: Date) {
  const { customer = null, return_url = null, metadata = {} } = authentications.openDetails(record);
  return {
    authentication_id: record._id,
    status: statusAt(record, now),
    amount: record.amount,
    currency: record.currency,
    customer,
    return_url,
    metadata,
    eligibility_check: record.check && {
      sdk_next_action: record.check.sdk_next_action,
      checked_at: record.check.checked_at.toISOString(),
      eligibility_check_data: await authentications.findCheckData(record, now),
    },
    created_at: record.created_at.toISOString(),
    expires_at: record.expires_at.toISOString(),
    closed_at: record.closed_at?.toISOString() ?? null,
  };
}

export function notFound(): ServiceError {
  return new ServiceError('AUTHENTICATION_NOT_FOUND', 'There is no such authentication.');
}
