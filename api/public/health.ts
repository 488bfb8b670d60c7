import Router from '@koa/router';
import { z } from 'zod';
import type { Launcher } from '../../temporal/launcher.js';
import type { RequestState } from '../context.js';
import { operations } from '../operation.js';

export interface HealthDependencies {
  launcher: Launcher;
  mongoReachable: () => Promise<boolean>;
  /** The model's name, or why there is none. */
  embeddings: { model: string } | { unavailable: string };
  /** Whether webhooks may go to this machine itself: true only in development. */
  loopbackAllowed: boolean;
}

const operation = operations('Health', (ctx, status, body) => {
  ctx.status = status;
  ctx.body = body;
});

const aliveSchema = z.object({ status: z.literal('ok') });
const readySchema = z.object({
  status: z.enum(['ready', 'unavailable']),
  temporal: z.boolean(),
  mongodb: z.boolean(),
  outbound: z.object({
    loopback: z.boolean().meta({ description: 'Whether webhooks may go to this machine itself.' }),
  }),
  embeddings: z.union([
    z.object({ available: z.literal(true), model: z.string() }),
    z.object({ available: z.literal(false), reason: z.string(), search: z.literal('full text only') }),
  ]),
});

/** `/healthz`: the process lives. `/readyz`: it can do its work, and what it has to do without. No key needed. */
export function healthRoutes({
  launcher,
  mongoReachable,
  embeddings,
  loopbackAllowed,
}: HealthDependencies): Router<RequestState> {
  const router = new Router<RequestState>();

  router.get(
    '/healthz',
    operation({ summary: 'The process lives', status: 200, answers: aliveSchema }, (_ctx, { answer }) =>
      answer({ status: 'ok' }),
    ),
  );

  router.get(
    '/readyz',
    operation(
      { summary: 'The process can do its work', status: 200, alsoStatus: 503, answers: readySchema },
      async (ctx, { answer }) => {
        const [temporal, mongodb] = await Promise.all([launcher.reachable(), mongoReachable()]);
        const ready = temporal && mongodb;
        answer({
          status: ready ? 'ready' : 'unavailable',
          temporal,
          mongodb,
          outbound: { loopback: loopbackAllowed },
          embeddings:
            'model' in embeddings
              ? { available: true, model: embeddings.model }
              : { available: false, reason: embeddings.unavailable, search: 'full text only' },
        });
        if (!ready) ctx.status = 503;
      },
    ),
  );

  return router;
}
