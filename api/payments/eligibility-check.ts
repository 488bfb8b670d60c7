import cors from '@koa/cors';
import Router from '@koa/router';
import type { Middleware } from 'koa';
import { z } from 'zod';
import { ServiceError } from '../../domain/errors.js';
import { eligibilityCheckSchema, nextAction, statusAt } from '../../domain/payments/authentications.js';
import { checkFingerprint } from '../../domain/payments/client-secrets.js';
import type { ApiKeys } from '../../storage/api-keys.js';
import type { Authentications } from '../../storage/payments/authentications.js';
import type { RateLimit } from '../../storage/rate-limits.js';
import { jsonBody } from '../json-body.js';
import type { RequestState } from '../request-context.js';
import { invalidCredentials, limitByAuthentication, requirePaymentKey } from './authenticate.js';
import { notFound } from './authentications.js';
import { paymentOperation } from './document.js';
import { eligibilitySchema } from './responses.js';

/** A check as browsers send it has about one KiB. */
const MAX_CHECK_BYTES = 64 * 1024;
const PATH = '/authentication/:id/eligibility-check';

/** The one thing a customer's browser does: submit the check, and read its answer again. */
export function eligibilityCheckRoutes(deps: {
  keys: ApiKeys;
  authentications: Authentications;
  authenticationLimit: RateLimit;
}): Router<RequestState> {
  const { authentications } = deps;
  const router = new Router<RequestState>();
  const keyed = requirePaymentKey(deps.keys);
  const limited = limitByAuthentication(deps.authenticationLimit);

  router.register(PATH, ['OPTIONS', 'GET', 'POST'], openToBrowsers());

  router.post(
    PATH,
    keyed,
    publishableOnly,
    limited,
    jsonBody(MAX_CHECK_BYTES),
    paymentOperation(
      {
        summary: 'Submit the eligibility check',
        description: 'From the browser, with the publishable key. The same check gives the same answer again.',
        body: eligibilityCheckSchema,
        example: {
          client_secret: 'auth_01kahqv5f2m8x3d7c9w1n4b6zt_secret_…',
          eligibility_check_data: {
            click_to_pay: {
              network_a: {
                consumerPresent: true,
                consumerStatus: 'recognised',
                customData: {
                  color_depth: 24,
                  screen_height: 1080,
                  screen_width: 1920,
                  time_zone: -60,
                  language: 'en',
                },
              },
              network_b: { consumerPresent: false, idLookupSessionId: '4f1c' },
            },
          },
        },
        status: 200,
        response: eligibilitySchema,
        errors: ['ELIGIBILITY_ALREADY_CHECKED'],
      },
      async (ctx, { body: { client_secret, eligibility_check_data: data }, respond }) => {
        const { org } = ctx.state.principal;
        const now = new Date();
        const proven = await authentications.verify(org, ctx.params.id!, client_secret, now);
        if (!proven) throw invalidCredentials();
        const fingerprint = checkFingerprint(client_secret, data);
        const record = await authentications.check(proven, data, fingerprint, now);
        if (!record) throw invalidCredentials();
        const action = nextAction(statusAt(record, now), record.check?.sdk_next_action ?? null);
        if (action === null || (action !== 'deny' && record.check?.fingerprint !== fingerprint)) {
          throw new ServiceError(
            'ELIGIBILITY_ALREADY_CHECKED',
            'This authentication has been checked with other data, and its answer stands. Another answer needs a new authentication.',
          );
        }
        respond({ authentication_id: record._id, sdk_next_action: action });
      },
    ),
  );

  router.get(
    PATH,
    keyed,
    limited,
    paymentOperation(
      {
        summary: 'Read the answer of the eligibility check again',
        headers: z.object({
          'client-secret': z.string().optional().meta({ description: 'Needed with a publishable key.' }),
        }),
        status: 200,
        response: eligibilitySchema,
        errors: ['AUTHENTICATION_NOT_FOUND', 'ELIGIBILITY_CHECK_NOT_FOUND'],
      },
      async (ctx, { respond }) => {
        const { org, kind } = ctx.state.principal;
        const now = new Date();
        const id = ctx.params.id!;
        const record =
          kind === 'payment_secret'
            ? await authentications.findForOrg(org, id, now)
            : await authentications.verify(org, id, ctx.get('client-secret'), now);
        if (!record) throw kind === 'payment_secret' ? notFound() : invalidCredentials();
        const action = nextAction(statusAt(record, now), record.check?.sdk_next_action ?? null);
        if (action === null) {
          throw new ServiceError('ELIGIBILITY_CHECK_NOT_FOUND', 'This authentication has not been checked yet.');
        }
        respond({ authentication_id: record._id, sdk_next_action: action });
      },
    ),
  );

  return router;
}

/** A secret key in a browser is a mistake; here it is a wrong key like any other. */
const publishableOnly: Middleware<RequestState> = async (ctx, next) => {
  if (ctx.state.principal.kind !== 'payment_publishable') throw invalidCredentials();
  await next();
};

/**
 * CORS for every origin: the publishable key is public, and no cookie is ever read. Answers to a secret key stay closed
 * to scripts, so that it does not seem to work in a page.
 */
function openToBrowsers(): Middleware<RequestState> {
  const open = cors({
    allowMethods: ['GET', 'POST'],
    allowHeaders: ['api-key', 'client-secret', 'Content-Type', 'X-Request-Id'],
    exposeHeaders: ['Retry-After', 'X-Request-Id'],
    maxAge: 24 * 60 * 60,
  }) as unknown as Middleware<RequestState>;
  return async (ctx, next) => {
    try {
      await open(ctx, next);
    } finally {
      if (ctx.state.principal?.kind === 'payment_secret') {
        ctx.remove('Access-Control-Allow-Origin');
        ctx.remove('Access-Control-Expose-Headers');
      }
    }
  };
}
