import Router from '@koa/router';
import { z } from 'zod';
import type { Principal } from '../../domain/api-keys.js';
import { ServiceError } from '../../domain/errors.js';
import { createAuthenticationSchema, isAuthenticationId } from '../../domain/payments/authentications.js';
import { AUTHENTICATION_STATES } from '../../domain/payments/states.js';
import type { AuthenticationRecord } from '../../storage/payments/authentications.js';
import { endedDelivery } from '../../storage/payments/ended-delivery.js';
import type { RateLimit } from '../../storage/rate-limits.js';
import { inTransaction, isDuplicateKey } from '../../storage/transactions.js';
import type { FirstSecret } from '../../storage/webhooks/signing-secrets.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import type { Dependencies } from '../dependencies.js';
import { byId, pageQuery, readPage } from '../pagination.js';
import { pickFields } from '../pick-fields.js';
import type { RequestState } from '../request-context.js';
import { rejectBlockedUrl } from '../validation.js';
import { countRequest } from './authenticate.js';
import { paymentOperation } from './document.js';
import {
  authenticationListSchema,
  authenticationSchema,
  createdSchema,
  describeAuthentication,
  summariseAuthentication,
} from './responses.js';

const NEWEST_FIRST = byId('auth');

const listQuerySchema = pageQuery(NEWEST_FIRST).extend({ status: z.enum(AUTHENTICATION_STATES).optional() });

/** Creating, listing, reading and closing authentications, for the merchant's server. */
export function authenticationRoutes(deps: Dependencies): Router<RequestState> {
  const { authentications, paymentSigningSecrets, starters, log } = deps;
  const router = new Router<RequestState>({ prefix: '/authentication' });

  router.post(
    '/',
    paymentOperation(
      {
        summary: 'Create an authentication',
        description:
          'A signed callback to `webhook_url` reports the end of the authentication: closed or expired. The first request ' +
          'with a `webhook_url` generates the signing secret.',
        body: createAuthenticationSchema,
        example: { amount: 1250, currency: 'EUR', return_url: 'https://shop.example/return' },
        status: 201,
        response: createdSchema,
        idempotencyKeys: deps.idempotencyKeys,
      },
      async (ctx, { org, body, respondWith }) => {
        const first =
          body.webhook_url === undefined ? null : await prepareWebhook(ctx.state.principal, body.webhook_url);
        const { record, clientSecret } = authentications.prepare(org, body, deps.now());
        const create = (signing: FirstSecret | null) => {
          const created = pickFields(createdSchema, {
            ...record,
            authentication_id: record._id,
            // The only response that has it.
            client_secret: clientSecret,
            webhook_signing_secret: signing?.secret,
          });
          // The secret is stored with the authentication whose response shows it, or not at all.
          return respondWith(created, (tx) => authentications.add(record, tx, signing?.add));
        };
        try {
          await create(first);
        } catch (error) {
          if (!first || !isDuplicateKey(error)) throw error;
          // Another request has stored one.
          await create(null);
        }
        await startOrDefer(log, 'timer', { authentication_id: record._id }, () => starters.startExpiry(record));
      },
    ),
  );

  router.get(
    '/',
    paymentOperation(
      { summary: 'List authentications', query: listQuerySchema, response: authenticationListSchema },
      async (_ctx, { org, query: { status, ...page }, respond }) => {
        const now = deps.now();
        const { records, next_cursor } = await readPage(page, NEWEST_FIRST, ({ from, limit }) =>
          authentications.listForOrg(org, { status, from, limit }, now),
        );
        const listed = records.map((record) => summariseAuthentication(record, now));
        respond({ authentications: listed, count: listed.length, next_cursor });
      },
    ),
  );

  /** @param find reads or changes the authentication of the path; null: there is none */
  const oneAuthentication = (
    summary: string,
    find: (org: string, id: string, now: Date) => Promise<AuthenticationRecord | null>,
  ) =>
    paymentOperation(
      { summary, response: authenticationSchema, errors: ['AUTHENTICATION_NOT_FOUND'] },
      async (ctx, { org, respond }) => {
        const now = deps.now();
        const record = await forMerchant(deps.rateLimits.authentication, org, ctx.params.id!, (id) =>
          find(org, id, now),
        );
        respond(await describeAuthentication(authentications, record, now));
      },
    );

  router.get(
    '/:id',
    oneAuthentication('Get an authentication', (...one) => authentications.findForOrg(...one)),
  );
  router.post('/:id/close', oneAuthentication('Close an authentication', closeAndNotify));

  return router;

  /** @returns a new signing secret, or null when the organisation has one @throws ServiceError VALIDATION_ERROR */
  async function prepareWebhook({ org, scopes }: Principal, url: string): Promise<FirstSecret | null> {
    await rejectBlockedUrl(deps.outbound, 'webhook_url', url);
    // Only a key that may read secrets gets one.
    if (scopes.includes('admin')) return paymentSigningSecrets.prepareFirst(org);
    if ((await paymentSigningSecrets.listOpen(org)).length > 0) return null;
    throw new ServiceError(
      'FORBIDDEN',
      'webhook_url: there is no signing secret yet. A key with the scope "admin" sets it: POST /authentication/signing-secret',
    );
  }

  async function closeAndNotify(org: string, id: string, now: Date): Promise<AuthenticationRecord | null> {
    const { closed, added } = await inTransaction(deps.mongoClient, async (tx) => {
      const record = await authentications.end(org, id, 'closed', now, tx);
      const delivery = record && endedDelivery(record, now);
      return { closed: record, added: await deps.deliveries.addAll(delivery ? [delivery] : [], tx) };
    });
    await startOrDefer(log, 'delivery', { authentication_id: id }, () => starters.startDeliveries(added));
    return closed ?? authentications.findForOrg(org, id, now);
  }
}

/**
 * The authentication that a merchant's request is about.
 * @param find reads or changes it
 * @throws ServiceError AUTHENTICATION_NOT_FOUND, RATE_LIMITED
 */
export async function forMerchant(
  limit: RateLimit | null,
  org: string,
  id: string,
  find: (id: string) => Promise<AuthenticationRecord | null>,
): Promise<AuthenticationRecord> {
  const isKnown = isAuthenticationId(id);
  if (isKnown) await countRequest(limit, 'merchant', org, id);
  const record = isKnown ? await find(id) : null;
  if (!record) throw new ServiceError('AUTHENTICATION_NOT_FOUND', 'There is no such authentication.');
  return record;
}
