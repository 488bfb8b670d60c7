import Router from '@koa/router';
import { consoleRoutes, type TemporalUi } from './console.js';
import { codedErrors } from './envelope.js';
import { type HealthDependencies, healthRoutes } from './health.js';
import type { HttpMetrics } from './metrics.js';
import { openApiDocument } from './openapi.js';
import { docsRoutes, homeRoutes } from './pages.js';
import type { RequestState } from './request-context.js';
import { routesOf, type Service } from './service.js';

export type PublicDependencies = HealthDependencies & {
  metrics: HttpMetrics;
  /** Whether metrics and the details of `/readyz` are served here too, because there is no internal port. */
  withInternals: boolean;
  /** Null when the console shows no links to it. */
  temporalUi: TemporalUi | null;
};

/** Routes that need no key: health, metrics, the first page, the console and the documentation of all services. */
export function publicService(deps: PublicDependencies, services: readonly Service[]): Service {
  const service: Service = {
    paths: ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs', '/console'],
    pages: ['/'],
    errors: codedErrors,
    middleware: [
      routesOf(healthRoutes(deps, deps.withInternals)),
      ...(deps.withInternals ? [routesOf(deps.metrics.routes)] : []),
      routesOf(documentRoutes(() => [...services, service])),
      routesOf(docsRoutes()),
      routesOf(consoleRoutes(deps.temporalUi)),
      routesOf(homeRoutes()),
    ],
    document: {
      tags: [{ name: 'Health', description: 'Health checks for orchestrators and load balancers. No key needed.' }],
      errors: ['INVALID_PARAMETERS'],
    },
  };
  return service;
}

/** What operators and their tools see, on a port that clients do not reach: metrics, and health with its details. */
export function internalService(deps: Omit<PublicDependencies, 'withInternals' | 'temporalUi'>): Service {
  return {
    paths: ['/'],
    errors: codedErrors,
    middleware: [routesOf(healthRoutes(deps, true)), routesOf(deps.metrics.routes)],
  };
}

/** `/openapi.json`, generated on the first request, when all services exist. */
function documentRoutes(services: () => readonly Service[]): Router<RequestState> {
  const router = new Router<RequestState>();
  // Bytes: of a text, each connection whose client does not read would hold a copy.
  let document: Buffer | undefined;
  router.get('/openapi.json', (ctx) => {
    document ??= Buffer.from(JSON.stringify(openApiDocument(services())));
    ctx.type = 'application/json';
    ctx.body = document;
  });
  return router;
}
