import Router from '@koa/router';
import { z } from 'zod';
import { MAX_TEXT } from '../domain/content/ingest.js';
import { FILE_EXTENSIONS } from '../domain/extraction.js';
import { QUOTA_DESCRIPTIONS, QUOTAS, type Quota } from '../domain/quotas.js';
import { endOfDay } from '../storage/model-tokens.js';
import { activityRoutes } from './activity.js';
import { authenticate } from './authenticate.js';
import type { Dependencies } from './dependencies.js';
import { contentEnvelope, contentErrors } from './envelope.js';
import { operations } from './operation.js';
import type { RequestState } from './request-context.js';
import { ORGANISATION_KEY, routesOf, type Service } from './service.js';

const TAG = 'Usage';

const quotaSchema = (description: string) =>
  z
    .object({
      used: z.int().nonnegative(),
      limit: z.int().nonnegative().nullable().meta({ description: 'null is no limit.' }),
    })
    .meta({ description });

const usageSchema = z
  .object({
    organisation: z.string().meta({ description: 'The organisation of the key.' }),
    ...(Object.fromEntries(QUOTAS.map((name) => [name, quotaSchema(QUOTA_DESCRIPTIONS[name])])) as Record<
      Quota,
      ReturnType<typeof quotaSchema>
    >),
    model_tokens: z
      .object({ ...quotaSchema('').shape, resets_at: z.iso.datetime() })
      .meta({ description: QUOTA_DESCRIPTIONS.model_tokens }),
    ingest: z
      .object({
        max_files: z.int(),
        max_items: z.int(),
        max_file_bytes: z.int(),
        max_request_bytes: z.int(),
        max_field_bytes: z.int().meta({ description: 'Of the fields of the form that are not files, together.' }),
        max_text_characters: z.int().meta({ description: 'Of the text of an item, in UTF-16 code units.' }),
        file_extensions: z.array(z.string()).meta({
          description:
            'Of files that are accepted, without the dot. Content decides: a file with another extension is accepted when it is text.',
        }),
      })
      .meta({
        description: 'What a request to `POST /context/ingest` may have. `stored_bytes` and `items` limit all of them.',
      }),
  })
  .meta({ id: 'Usage' });

/** `GET /usage`: what the organisation uses, and its limits. `GET /usage/activity`: what has happened lately. */
export function usageService(deps: Dependencies): Service {
  const router = new Router<RequestState>();
  router.get(
    '/usage',
    operations(TAG, contentEnvelope)(
      {
        summary: 'Get use and limits',
        description:
          'Requests that would exceed a limit are rejected with `FORBIDDEN` (403), which names the quota; deleting records gives ' +
          'their use back. When the model tokens of the day are used up, `RATE_LIMITED` (429) says when there are new ones.',
        response: usageSchema,
      },
      async (_ctx, { org: organisation, respond }) => {
        const now = deps.now();
        const usage = await deps.quotas.usageOf(organisation, now);
        respond({
          organisation,
          ...usage,
          model_tokens: { ...usage.model_tokens, resets_at: endOfDay(now).toISOString() },
          ingest: describeLimits(deps.limits),
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
    },
  };
}

function describeLimits({ maxFiles, maxItems, maxFileBytes, maxRequestBytes, maxFieldBytes }: Dependencies['limits']) {
  return {
    max_files: maxFiles,
    max_items: maxItems,
    max_file_bytes: maxFileBytes,
    max_request_bytes: maxRequestBytes,
    max_field_bytes: maxFieldBytes,
    max_text_characters: MAX_TEXT,
    file_extensions: [...FILE_EXTENSIONS],
  };
}
