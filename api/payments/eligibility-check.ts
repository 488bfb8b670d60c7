import cors from '@koa/cors';
import Router from '@koa/router';
import type { Middleware } from 'koa';
import { z } from 'zod';
import { ServiceError } from '../../domain/errors.js';
import {
  checkFingerprint,
  eligibilityCheckSchema,
  isAuthenticationId,
  isClientSecret,
  nextAction,
  type SdkNextAction,
  statusAt,
} from '../../domain/payments/authentications.js';
import { type CardNetworks, type SentNames, withKnownNetworks } from '../../domain/payments/card-networks.js';
import type { AuthenticationRecord } from '../../storage/payments/authentications.js';
import type { Dependencies } from '../dependencies.js';
import { jsonBody } from '../json-body.js';
import type { RequestState } from '../request-context.js';
import { countRequest, invalidCredentials, limitPaymentKey, requirePaymentKey } from './authenticate.js';
import { forMerchant } from './authentications.js';
import { paymentOperation } from './document.js';
import { eligibilitySchema } from './responses.js';

/** Browsers send about one KiB. */
const MAX_CHECK_BYTES = 64 * 1024;
const PATH = '/authentication/:id/eligibility-check';

/** Submitting the eligibility check, and reading its result again, for the customer's browser. */
export function eligibilityCheckRoutes(deps: Dependencies): Router<RequestState> {
  const { authentications } = deps;
  const router = new Router<RequestState>();
  const keyed = requirePaymentKey(deps.keys);
  const limited = limitPaymentKey(deps.rateLimits.publishable, deps.rateLimit);

  router.register(PATH, ['OPTIONS', 'GET', 'POST'], openToBrowsers());

  router.post(
    PATH,
    keyed,
    publishableOnly,
    limited,
    jsonBody(MAX_CHECK_BYTES),
    renameNetworks(deps.cardNetworks),
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
        response: eligibilitySchema,
        errors: ['ELIGIBILITY_ALREADY_CHECKED'],
      },
      async (ctx, { org, body, respond }) => {
        const authentication = await verify(org, ctx.params.id!, body.client_secret, deps.now());
        const sdk_next_action = await submitCheck(authentication, body, ctx.state.sentNetworks ?? {});
        respond({ authentication_id: authentication._id, sdk_next_action });
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
        response: eligibilitySchema,
        errors: ['AUTHENTICATION_NOT_FOUND', 'ELIGIBILITY_CHECK_NOT_FOUND'],
      },
      async (ctx, { respond }) => {
        const id = ctx.params.id!;
        const now = deps.now();
        const { org, kind } = ctx.state.principal;
        const authentication =
          kind === 'payment_secret'
            ? await forMerchant(deps.rateLimits.authentication, org, id, () => authentications.findForOrg(org, id, now))
            : await verify(org, id, ctx.get('client-secret'), now);
        const action = actionOf(authentication, now);
        if (action === null) {
          throw new ServiceError('ELIGIBILITY_CHECK_NOT_FOUND', 'This authentication has not been checked yet.');
        }
        respond({ authentication_id: id, sdk_next_action: action });
      },
    ),
  );

  return router;

  /**
   * Finds the authentication of a customer, whose browser authenticates with the client secret.
   * @throws ServiceError UNAUTHORIZED, RATE_LIMITED
   */
  async function verify(org: string, id: string, clientSecret: string, now: Date): Promise<AuthenticationRecord> {
    if (!isAuthenticationId(id)) throw invalidCredentials();
    const authentication = await authentications.findForOrg(org, id, now);
    const isCustomer = isClientSecret(clientSecret, authentication?.client_secret_hash);
    await countRequest(deps.rateLimits.authentication, isCustomer ? 'customer' : 'stranger', org, id);
    if (!authentication || !isCustomer) throw invalidCredentials();
    return authentication;
  }

  /**
   * Records the first check. Submitted again, the same check returns the same action.
   * @throws ServiceError UNAUTHORIZED, ELIGIBILITY_ALREADY_CHECKED for other data than in the first check
   */
  async function submitCheck(
    authentication: AuthenticationRecord,
    { client_secret, eligibility_check_data: data }: z.output<typeof eligibilityCheckSchema>,
    sent: SentNames,
  ): Promise<SdkNextAction> {
    const now = deps.now();
    const fingerprint = checkFingerprint(client_secret, data);
    const record = await authentications.check(authentication, { data, sent }, fingerprint, now);
    if (!record) throw invalidCredentials();
    const action = actionOf(record, now);
    if (action === 'deny' || (action !== null && record.check?.fingerprint === fingerprint)) return action;
    throw new ServiceError(
      'ELIGIBILITY_ALREADY_CHECKED',
      'This authentication has already been checked with other data. Create a new authentication to check again.',
    );
  }
}

function actionOf(record: AuthenticationRecord, now: Date): SdkNextAction | null {
  return nextAction(statusAt(record, now), record.check?.sdk_next_action ?? null);
}

/** Takes the configured names of the networks, and keeps them for the answers. */
function renameNetworks(networks: CardNetworks): Middleware<RequestState> {
  return async (ctx, next) => {
    const renamed = withKnownNetworks(networks, ctx.request.body);
    if (!renamed) {
      const at = 'eligibility_check_data.click_to_pay';
      throw new ServiceError('VALIDATION_ERROR', `${at}: has one network under two names`);
    }
    ctx.request.body = renamed.body;
    ctx.state.sentNetworks = renamed.sent;
    await next();
  };
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
