import Router from '@koa/router';
import { z } from 'zod';
import { type EmbeddingModel, modelOf, type OtherModel } from '../domain/content/embedding-models.js';
import { plainEnvelope } from './envelope.js';
import { operations } from './operation.js';
import type { RequestState } from './request-context.js';

export interface HealthDependencies {
  temporalReachable: () => Promise<boolean>;
  mongoReachable: () => Promise<boolean>;
  /** The model, or the reason why there is none. */
  embeddings: EmbeddingModel | { unavailable: string };
  /** Models of databases that a rebuild would change; null when they cannot be read. */
  otherModels: () => Promise<OtherModel[] | null>;
  /** Whether webhooks may be sent to this machine itself: true only in development. */
  loopbackAllowed: boolean;
}

const operation = operations('Health', plainEnvelope);

const aliveSchema = z.object({ status: z.literal('ok') });
const detailsSchema = z.object({
  temporal: z.boolean(),
  mongodb: z.boolean(),
  outbound: z.object({
    loopback: z.boolean().meta({ description: 'Whether webhooks may be sent to this machine itself.' }),
  }),
  embeddings: z.union([
    z.object({
      available: z.literal(true),
      model: z.string(),
      dimensions: z.int(),
      other_models: z
        .array(
          z.object({
            model: z.string(),
            dimensions: z.int(),
            databases: z.int().meta({ description: 'Databases with vectors of this model.' }),
            available: z.boolean().meta({
              description: 'Whether the API has the model. Without it, these databases are searched by text only.',
            }),
            advice: z.string(),
          }),
        )
        .optional()
        .meta({ description: 'Databases with vectors of another model; absent when there are none.' }),
    }),
    z.object({ available: z.literal(false), reason: z.string(), search: z.literal('full text only') }),
  ]),
});
const readySchema = z.object({ status: z.enum(['ready', 'unavailable']), ...detailsSchema.partial().shape });

/**
 * `/healthz`: the process runs. `/readyz`: the process can serve requests.
 * @param withDetails whether `/readyz` also says which dependency is missing
 */
export function healthRoutes(
  { temporalReachable, mongoReachable, embeddings, otherModels, loopbackAllowed }: HealthDependencies,
  withDetails: boolean,
): Router<RequestState> {
  const router = new Router<RequestState>();

  router.get(
    '/healthz',
    operation({ summary: 'Liveness check', status: 200, response: aliveSchema }, (_ctx, { respond }) =>
      respond({ status: 'ok' }),
    ),
  );

  router.get(
    '/readyz',
    operation(
      {
        summary: 'Readiness check',
        description: 'The details are absent where the operator serves them on another port.',
        status: 200,
        alternativeStatus: 503,
        response: readySchema,
      },
      async (ctx, { respond }) => {
        const [temporal, mongodb, others] = await Promise.all([
          temporalReachable(),
          mongoReachable(),
          withDetails ? otherModels() : null,
        ]);
        const ready = temporal && mongodb;
        const details: z.input<typeof detailsSchema> = {
          temporal,
          mongodb,
          outbound: { loopback: loopbackAllowed },
          embeddings:
            'model' in embeddings
              ? { available: true, ...modelOf(embeddings), ...describeOthers(others) }
              : { available: false, reason: embeddings.unavailable, search: 'full text only' },
        };
        respond({ status: ready ? 'ready' : 'unavailable', ...(withDetails ? details : {}) });
        if (!ready) ctx.status = 503;
      },
    ),
  );

  return router;
}

function describeOthers(others: readonly OtherModel[] | null) {
  if (!others || others.length === 0) return {};
  const advice = 'Run "postback index rebuild --embed".';
  return { other_models: others.map((other) => ({ ...other, advice })) };
}
