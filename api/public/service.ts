import { z } from 'zod';
import { routesOf, type Service } from '../service.js';
import { docsRoutes } from './docs.js';
import { documentRoutes } from './document.js';
import { type HealthDependencies, healthRoutes } from './health.js';
import type { HttpMetrics } from './metrics.js';

/** What needs no key: health, metrics, and the documentation of all the services. */
export function publicService(
  deps: HealthDependencies & { metrics: HttpMetrics; services: readonly Service[] },
): Service {
  const service: Service = {
    paths: ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs'],
    answerError(ctx, { status, code, message }) {
      ctx.status = status;
      ctx.body = { error: { code, message } };
    },
    middleware: [
      routesOf(healthRoutes(deps)),
      routesOf(deps.metrics.routes),
      routesOf(documentRoutes(() => [...deps.services, service])),
      routesOf(docsRoutes()),
    ],
    document: {
      tags: [{ name: 'Health', description: 'For probes. No key needed.' }],
      success: (data) => data,
      failure: (code) => z.object({ error: z.object({ code, message: z.string() }) }),
      errors: [],
    },
  };
  return service;
}
