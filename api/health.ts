import Router from '@koa/router';
import type { Launcher } from '../temporal/launcher.js';
import type { RequestState } from './context.js';

export interface HealthDependencies {
  launcher: Launcher;
  mongoReachable: () => Promise<boolean>;
  /** The model's name, or why there is none. */
  embeddings: { model: string } | { unavailable: string };
  /** Whether webhooks may go to this machine itself: true only in development. */
  loopbackAllowed: boolean;
}

/** `/healthz`: the process lives. `/readyz`: it can do its work, and what it has to do without. No key needed. */
export function healthRoutes({
  launcher,
  mongoReachable,
  embeddings,
  loopbackAllowed,
}: HealthDependencies): Router<RequestState> {
  const router = new Router<RequestState>();
  router.get('/healthz', (ctx) => {
    ctx.body = { status: 'ok' };
  });
  router.get('/readyz', async (ctx) => {
    const [temporal, mongodb] = await Promise.all([launcher.reachable(), mongoReachable()]);
    const ready = temporal && mongodb;
    ctx.status = ready ? 200 : 503;
    ctx.body = {
      status: ready ? 'ready' : 'unavailable',
      temporal,
      mongodb,
      outbound: { loopback: loopbackAllowed },
      embeddings:
        'model' in embeddings
          ? { available: true, model: embeddings.model }
          : { available: false, reason: embeddings.unavailable, search: 'full text only' },
    };
  });
  return router;
}
