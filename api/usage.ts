import Router from '@koa/router';
import type { Middleware } from 'koa';
import { z } from 'zod';
import { QUOTA_DESCRIPTIONS, QUOTAS, type Quota } from '../domain/quotas.js';
import type { ApiKeys } from '../storage/api-keys.js';
import { endOfDay } from '../storage/model-tokens.js';
import type { Quotas } from '../storage/quotas.js';
import { type ActivityDependencies, activityRoutes } from './activity.js';
import { authenticate } from './authenticate.js';
import { contentEnvelope, contentErrors } from './envelope.js';
import { operations } from './operation.js';
import type { RequestState } from './request-context.js';
import { KEYED_ERRORS, ORGANISATION_KEY, routesOf, type Service } from './service.js';

export interface UsageDependencies extends ActivityDependencies {
  keys: ApiKeys;
  quotas: Pick<Quotas, 'usageOf'>;
  rateLimit: Middleware<RequestState>;
}

const TAG = 'Usage';

const quotaSchema = (description: string) =>
  z
    .object({
      used: z.int().nonnegative(),
      limit: z.int().nonnegative().nullable().meta({ description: 'null is no limit.' }),
    })
    .meta({ description });

const usageSchema = z.object({
  organisation: z.string().meta({ description: 'The organisation of the key.' }),
  ...(Object.fromEntries(QUOTAS.map((name) => [name, quotaSchema(QUOTA_DESCRIPTIONS[name])])) as Record<
    Quota,
    ReturnType<typeof quotaSchema>
  >),
  model_tokens: z
    .object({ ...quotaSchema('').shape, resets_at: z.iso.datetime() })
    .meta({ description: QUOTA_DESCRIPTIONS.model_tokens }),
});

/** `GET /usage`: what the organisation uses, and its limits. `GET /usage/activity`: what has happened lately. */
export function usageService(deps: UsageDependencies): Service {
  const router = new Router<RequestState>();
  router.get(
    '/usage',
    operations(TAG, contentEnvelope)(
      {
        summary: 'Get use and limits',
        description:
          'Requests that would exceed a limit are rejected with `FORBIDDEN` (403), which names the quota; deleting records gives ' +
          'their use back. When the model tokens of the day are used up, `RATE_LIMITED` (429) says when there are new ones.',
        status: 200,
        response: usageSchema,
      },
      async (ctx, { respond }) => {
        const now = deps.now();
        const { org: organisation } = ctx.state.principal;
        const usage = await deps.quotas.usageOf(organisation, now);
        respond({
          organisation,
          ...usage,
          model_tokens: { ...usage.model_tokens, resets_at: endOfDay(now).toISOString() },
        });
      },
    ),
  );
  return {
    paths: ['/usage'],
    errors: contentErrors,
    middleware: [
      authenticate(deps.keys, ['api', 'crew_org']),
      deps.rateLimit,
      routesOf(router),
      routesOf(activityRoutes(deps)),
    ],
    document: {
      tags: [{ name: TAG, description: 'What the organisation uses, its quotas, and its recent activity.' }],
      security: ORGANISATION_KEY,
      errors: KEYED_ERRORS,
    },
  };
}
