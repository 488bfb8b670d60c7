import cors from '@koa/cors';
import Router from '@koa/router';
import type { Middleware } from 'koa';
import { z } from 'zod';
import type { Principal } from '../../domain/api-keys.js';
import { ServiceError } from '../../domain/errors.js';
import {
  eligibilityCheckSchema,
  nextAction,
  type SdkNextAction,
  statusAt,
} from '../../domain/payments/authentications.js';
import { checkFingerprint } from '../../domain/payments/client-secrets.js';
import type { ApiKeys } from '../../storage/api-keys.js';
import type { AuthenticationRecord, Authentications } from '../../storage/payments/authentications.js';
import type { RateLimit } from '../../storage/rate-limits.js';
import { jsonBody } from '../json-body.js';
import type { RequestState } from '../request-context.js';
import { invalidCredentials, limitByAuthentication, requirePaymentKey } from './authenticate.js';
import { notFound } from './authentications.js';
import { paymentOperation } from './document.js';
import { eligibilitySchema } from './responses.js';

/** Browsers send about one KiB. */
const MAX_CHECK_BYTES = 64 * 1024;
const PATH = '/authentication/:id/eligibility-check';

/** Submitting the eligibility check, and reading its result again, for the customer's browser. */
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
        description:
          'From the browser, with a publishable key. Submitting the same check again returns the same result.',
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
      async (ctx, { body, respond }) => {
        const { org } = ctx.state.principal;
        const id = ctx.params.id!;
        respond({ authentication_id: id, sdk_next_action: await submitCheck(authentications, org, id, body) });
      },
    ),
  );

  router.get(
    PATH,
    keyed,
    limited,
    paymentOperation(
      {
        summary: 'Get the result of the eligibility check',
        headers: z.object({
          'client-secret': z.string().optional().meta({ description: 'Required with a publishable key.' }),
        }),
        status: 200,
        response: eligibilitySchema,
        errors: ['AUTHENTICATION_NOT_FOUND', 'ELIGIBILITY_CHECK_NOT_FOUND'],
      },
      async (ctx, { respond }) => {
        const id = ctx.params.id!;
        const action = await readAction(authentications, ctx.state.principal, id, ctx.get('client-secret'));
        respond({ authentication_id: id, sdk_next_action: action });
      },
    ),
  );

  return router;
}

/**
 * Records the first check. Submitted again, the same check returns the same action.
 * @throws ServiceError UNAUTHORIZED, ELIGIBILITY_ALREADY_CHECKED for other data than in the first check
 */
async function submitCheck(
  authentications: Authentications,
  org: string,
  id: string,
  { client_secret, eligibility_check_data }: z.output<typeof eligibilityCheckSchema>,
): Promise<SdkNextAction> {
  const now = new Date();
  const authentication = await authentications.verify(org, id, client_secret, now);
  if (!authentication) throw invalidCredentials();
  const fingerprint = checkFingerprint(client_secret, eligibility_check_data);
  const record = await authentications.check(authentication, eligibility_check_data, fingerprint, now);
  if (!record) throw invalidCredentials();
  const action = actionOf(record, now);
  if (action === 'deny' || (action !== null && record.check?.fingerprint === fingerprint)) return action;
  throw new ServiceError(
    'ELIGIBILITY_ALREADY_CHECKED',
    'This authentication has already been checked with other data. Create a new authentication to check again.',
  );
}

/** @throws ServiceError UNAUTHORIZED, AUTHENTICATION_NOT_FOUND, ELIGIBILITY_CHECK_NOT_FOUND */
async function readAction(
  authentications: Authentications,
  { org, kind }: Principal,
  id: string,
  clientSecret: string,
): Promise<SdkNextAction> {
  const now = new Date();
  const isServer = kind === 'payment_secret';
  const record = isServer
    ? await authentications.findForOrg(org, id, now)
    : await authentications.verify(org, id, clientSecret, now);
  if (!record) throw isServer ? notFound() : invalidCredentials();
  const action = actionOf(record, now);
  if (action !== null) return action;
  throw new ServiceError('ELIGIBILITY_CHECK_NOT_FOUND', 'This authentication has not been checked yet.');
}

function actionOf(record: AuthenticationRecord, now: Date): SdkNextAction | null {
  return nextAction(statusAt(record, now), record.check?.sdk_next_action ?? null);
}

/** A secret key in a browser is a mistake: it is rejected like any invalid key. */
const publishableOnly: Middleware<RequestState> = async (ctx, next) => {
  if (ctx.state.principal.kind !== 'payment_publishable') throw invalidCredentials();
  await next();
};

/**
 * CORS for every origin: publishable keys are public, and no cookie is read. Scripts cannot read responses to a secret
 * key, so that nobody uses one in a page.
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
