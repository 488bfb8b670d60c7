import Router from '@koa/router';
import type { Middleware } from 'koa';
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { RequestState } from './request-context.js';

/** Seconds: from a simple read to a large upload. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

export interface HttpMetrics {
  /** Measures a request; the outermost middleware. */
  measure: Middleware<RequestState>;
  routes: Router<RequestState>;
}

/**
 * Prometheus metrics of the process and of its requests. No label names a client, and a route is labelled by its
 * pattern, so that the number of series is bounded whatever clients send.
 */
export function createHttpMetrics(): HttpMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const duration = new Histogram({
    name: 'postback_http_request_duration_seconds',
    help: 'Time from the arrival of a request to its response, by method, route pattern and status.',
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
      const stopTimer = duration.startTimer({ method: ctx.method });
      try {
        await next();
      } finally {
        stopTimer({ route: typeof ctx._matchedRoute === 'string' ? ctx._matchedRoute : 'none', status: ctx.status });
      }
    },
  };
}
