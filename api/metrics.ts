import Router from '@koa/router';
import type { Middleware } from 'koa';
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { RequestState } from './request-context.js';

/** From a look-up to the answer that follows a large upload, in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

export interface HttpMetrics {
  /** Around everything else. */
  measure: Middleware<RequestState>;
  routes: Router<RequestState>;
}

/**
 * What this process has answered and how it fares, for Prometheus. No label tells who asked, and a route is its
 * pattern: so the number of series is bounded whatever clients send.
 */
export function createHttpMetrics(): HttpMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const duration = new Histogram({
    name: 'postback_http_request_duration_seconds',
    help: 'Time from the arrival of a request to its answer, by method, pattern of the route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS,
    registers: [registry],
  });
  const routes = new Router<RequestState>();
  routes.get('/metrics', async (ctx) => {
    ctx.type = registry.contentType;
    ctx.body = await registry.metrics();
  });
  return {
    routes,
    async measure(ctx, next) {
      const ended = duration.startTimer({ method: ctx.method });
      try {
        await next();
      } finally {
        ended({ route: typeof ctx._matchedRoute === 'string' ? ctx._matchedRoute : 'none', status: ctx.status });
      }
    },
  };
}
