import Router from '@koa/router';
import type { Middleware } from 'koa';
import { Histogram, Registry } from 'prom-client';
import type { StarterMetrics } from '../domain/metrics.js';
import type { RequestState } from './request-context.js';

/** Seconds: from a simple read to a large upload. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

export interface HttpMetrics {
  /** Measures a request; the outermost middleware. */
  measure: Middleware<RequestState>;
  routes: Router<RequestState>;
}

/**
 * Prometheus metrics of requests, with all other metrics of the registry. No label names a client, and a route is labelled by its
 * pattern, so that the number of series is bounded whatever clients send.
 * @param refresh called before the metrics are read
 */
export function createHttpMetrics(
  registry = new Registry(),
  refresh: () => Promise<void> = () => Promise.resolve(),
): HttpMetrics {
  const duration = new Histogram({
    name: 'postback_http_request_duration_seconds',
    help: 'Time from the arrival of a request to its response, by method, route pattern and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS,
    registers: [registry],
  });
  const routes = new Router<RequestState>();
  routes.get('/metrics', async (ctx) => {
    await refresh();
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

/** Measures the calls of Temporal that start and signal workflows. */
export function createStarterMetrics(registry: Registry): StarterMetrics {
  const duration = new Histogram({
    name: 'postback_temporal_call_duration_seconds',
    help: 'Time of a call of Temporal that starts or signals a workflow, by result.',
    labelNames: ['result'],
    buckets: BUCKETS,
    registers: [registry],
  });
  return { temporalCalled: (result, milliseconds) => duration.observe({ result }, milliseconds / 1000) };
}
