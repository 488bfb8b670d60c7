import Koa from 'koa';
import type { Logger } from 'pino';
import { type AiJobServiceDependencies, aiJobService } from './ai-jobs/service.js';
import { type ContentDependencies, contentService } from './content/service.js';
import type { RequestState } from './context.js';
import { type CrewServiceDependencies, crewService } from './crews/service.js';
import { type PaymentDependencies, paymentService } from './payments/service.js';
import type { HealthDependencies } from './public/health.js';
import { createHttpMetrics, type HttpMetrics } from './public/metrics.js';
import { publicService } from './public/service.js';
import { type RateLimits, rateLimit } from './rate-limit.js';
import { requestContext } from './request-context.js';
import { type Service, serve } from './service.js';

export type ApiDependencies = HealthDependencies &
  Omit<ContentDependencies & AiJobServiceDependencies & CrewServiceDependencies & PaymentDependencies, 'rateLimit'> & {
    rateLimits: RateLimits;
    log: Logger;
    /** Aborted when the process begins to stop. */
    stopping: AbortSignal;
  };

/** The whole HTTP interface. Validates, stores, starts or signals a workflow; the work itself happens elsewhere. */
export function createApp(deps: ApiDependencies): Koa<RequestState> {
  const app = new Koa<RequestState>();
  const metrics = createHttpMetrics();
  app.use(metrics.measure);
  app.use(requestContext(deps.log));
  app.use(async (ctx, next) => {
    await next();
    // The last answer of its connection: the client's next request finds a process that stays.
    if (deps.stopping.aborted) ctx.set('Connection', 'close');
  });
  app.use(serve(createServices(deps, metrics), deps.log));
  // A client that hangs up is no error of ours; everything else has been answered and logged above.
  app.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') deps.log.error({ err: error }, 'answer not sent');
  });
  return app;
}

/** All services of the server. */
export function createServices(deps: ApiDependencies, metrics: HttpMetrics): Service[] {
  const shared = { ...deps, rateLimit: rateLimit(deps.rateLimits) };
  const services = [contentService(shared), aiJobService(shared), crewService(shared), paymentService(shared)];
  return [publicService({ ...deps, metrics, services }), ...services];
}
