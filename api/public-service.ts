import Router from '@koa/router';
import { consoleRoutes } from './console.js';
import type { Dependencies } from './dependencies.js';
import { codedErrors } from './envelope.js';
import { type HealthDependencies, healthRoutes } from './health.js';
import type { HttpMetrics } from './metrics.js';
import { openApiDocument } from './openapi.js';
import { docsRoutes } from './pages.js';
import type { RequestState } from './request-context.js';
import { routesOf, type Service } from './service.js';

/**
 * Routes that need no key: health, the first page, the console and the documentation of all services; without an internal port,
 * also metrics, and the details of `/readyz`.
 */
export function publicService(deps: Dependencies, metrics: HttpMetrics, services: readonly Service[]): Service {
  const service: Service = {
    paths: ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs', '/console'],
    pages: ['/'],
    errors: codedErrors,
    middleware: [
      routesOf(healthRoutes(deps, !deps.hasInternalPort)),
      ...(deps.hasInternalPort ? [] : [routesOf(metrics.routes)]),
      routesOf(documentRoutes(() => [...services, service])),
      routesOf(docsRoutes()),
      routesOf(consoleRoutes(deps.temporalUi)),
    ],
    document: {
      tags: [{ name: 'Health', description: 'Health checks for orchestrators and load balancers. No key needed.' }],
      errors: ['INVALID_PARAMETERS'],
    },
  };
  return service;
}

/** What operators and their tools see, on a port that clients do not reach: metrics, and health with its details. */
export function internalService(deps: HealthDependencies & { metrics: HttpMetrics }): Service {
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
