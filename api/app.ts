import Koa, { type Middleware } from 'koa';
import type { Registry } from 'prom-client';
import type { AllowedCidr } from '../domain/address-rules.js';
import { aiJobService } from './ai-jobs/service.js';
import { auditRoutes } from './audit.js';
import { createBacklogMetrics } from './backlog-metrics.js';
import { limitBodyMemory } from './body-memory.js';
import { discardBody } from './body-pieces.js';
import { connectorRoutes } from './connectors/connectors.js';
import { syncRoutes } from './connectors/syncs.js';
import { contentService } from './content/service.js';
import { reviewService } from './crews/review.js';
import { crewService } from './crews/service.js';
import type { Dependencies } from './dependencies.js';
import { eventService } from './events/service.js';
import { createInProcessFetch } from './in-process.js';
import { keyRoutes } from './keys.js';
import { mcpService } from './mcp/service.js';
import { createHttpMetrics, type HttpMetrics } from './metrics.js';
import { operatorService } from './operator.js';
import { paymentService } from './payments/service.js';
import { internalService, publicService } from './public-service.js';
import { limitFailedLogins, rateLimit } from './rate-limit.js';
import { type RequestState, requestContext } from './request-context.js';
import { createShowLastRequest } from './sent-requests.js';
import { cutSlowBodies, type SlowRequestLimits } from './server.js';
import { type Service, serve } from './service.js';
import { usageService } from './usage.js';
import { allDeliveriesService } from './webhooks/all-deliveries.js';
import { indexingDeliveryRoutes } from './webhooks/delivery-routes.js';
import { registrationRoutes } from './webhooks/registration.js';
import { replayRoutes } from './webhooks/replays.js';

/** What the process gives to the application. It makes the other dependencies of the routes itself. */
export type ApiDependencies = Omit<Dependencies, 'rateLimit' | 'showLastRequest' | 'fetchHere'> & {
  trustedProxies: readonly AllowedCidr[];
  slowRequests: SlowRequestLimits;
  bodyMemoryBytes: number;
  /** Creates a span for each request; undefined without traces. */
  traceRequest: Middleware | undefined;
  /** The metrics of the process, which `/metrics` serves. */
  registry: Registry;
};

/**
 * The HTTP API, which validates requests, stores records, and starts or signals workflows, while workers do the work; and
 * the application of the internal port.
 */
export function createApps(deps: ApiDependencies): { api: Koa<RequestState>; internal: Koa<RequestState> } {
  const metrics = createHttpMetrics(
    deps.registry,
    createBacklogMetrics(deps.registry, deps.readBacklog, deps.processes.health, deps.now),
  );
  const internal = new Koa<RequestState>();
  internal.use(serve([internalService({ ...deps, metrics })], deps.log));
  return { api: createApi(deps, metrics), internal };
}

function createApi(deps: ApiDependencies, metrics: HttpMetrics): Koa<RequestState> {
  const app = new Koa<RequestState>();
  if (deps.traceRequest) app.use(deps.traceRequest);
  app.use(metrics.measure);
  app.use(requestContext(deps.log, deps.trustedProxies, deps.proxySigns));
  app.use((ctx, next) => {
    ctx.state.audit = deps.audit;
    return next();
  });
  app.use(async (ctx, next) => {
    await next();
    // Closes the connection, so that the client's next request reaches another process.
    if (deps.stopping.aborted) ctx.set('Connection', 'close');
  });
  app.use(cutSlowBodies(deps.slowRequests));
  app.use(async (ctx, next) => {
    await next();
    // The body of a request that was rejected before it was read. Node would read it without pauses.
    if (!ctx.req.readableEnded) void discardBody(ctx.req);
  });
  app.use(limitBodyMemory(deps.bodyMemoryBytes));
  const fetchHere = createInProcessFetch(() => app.callback());
  app.use(serve(createServices({ ...deps, fetchHere }, metrics), deps.log));
  // Errors of requests are handled above. A client that disconnects, or sends something other than HTTP, is not an error of the
  // server, and must not fill its log.
  app.on('error', (error: NodeJS.ErrnoException) => {
    const { code = '' } = error;
    if (!/^(ECONNRESET|EPIPE|HPE_.*|ERR_STREAM_PREMATURE_CLOSE)$/.test(code))
      deps.log.error({ err: error }, 'response not sent');
  });
  return app;
}

/** All services of the server. */
export function createServices(
  deps: ApiDependencies & Pick<Dependencies, 'fetchHere'>,
  metrics: HttpMetrics,
): Service[] {
  const shared = { ...deps, rateLimit: rateLimit(deps.rateLimits), showLastRequest: createShowLastRequest(deps) };
  const services = [
    contentService(shared, [
      connectorRoutes(shared),
      syncRoutes(shared),
      replayRoutes(shared),
      indexingDeliveryRoutes(shared),
      registrationRoutes(shared),
      keyRoutes(shared),
      auditRoutes(shared),
    ]),
    aiJobService(shared),
    crewService(shared),
    reviewService(shared),
    paymentService(shared),
    usageService(shared),
    allDeliveriesService(shared),
    eventService(shared),
    mcpService(shared),
    operatorService(shared),
  ];
  const failedLogins = limitFailedLogins(deps.rateLimits.failedLogins);
  return [
    publicService(shared, metrics, services),
    ...services.map((service) => ({ ...service, middleware: [failedLogins, ...service.middleware] })),
  ];
}
