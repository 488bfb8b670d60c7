import Koa from 'koa';
import type { Logger } from 'pino';
import type { SearchIndex } from '../domain/search.js';
import type { ApiKeys } from '../storage/api-keys.js';
import type { Deliveries } from '../storage/deliveries.js';
import type { Retrieval } from '../storage/retrieval.js';
import { authenticate, requireApiVersion } from './authenticate.js';
import { contentRoutes } from './content.js';
import type { RequestState } from './context.js';
import { databaseRoutes } from './databases.js';
import { deliveryRoutes } from './deliveries.js';
import { errorAnswers } from './errors.js';
import { type HealthDependencies, healthRoutes } from './health.js';
import { type IngestDependencies, ingestRoutes } from './ingest.js';
import { jsonBody } from './json-body.js';
import { requestContext } from './request-context.js';
import { type WebhookDependencies, webhookRoutes } from './webhooks.js';

export interface ApiDependencies extends HealthDependencies, IngestDependencies, WebhookDependencies {
  keys: ApiKeys;
  deliveries: Deliveries;
  index: SearchIndex;
  retrieval: Retrieval;
  log: Logger;
}

/** The whole HTTP interface. Validates, stores, starts or signals a workflow; the work itself happens elsewhere. */
export function createApp(deps: ApiDependencies): Koa<RequestState> {
  const app = new Koa<RequestState>();
  app.use(requestContext(deps.log));
  app.use(errorAnswers(deps.log));
  app.use(healthRoutes(deps).routes());
  app.use(authenticate(deps.keys, ['api']));
  app.use(requireApiVersion());
  app.use(ingestRoutes(deps).routes());
  app.use(jsonBody());
  app.use(databaseRoutes(deps).routes());
  app.use(contentRoutes(deps).routes());
  app.use(deliveryRoutes(deps).routes());
  app.use(webhookRoutes(deps).routes());
  // A client that hangs up is no error of ours; everything else has been answered and logged above.
  app.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') deps.log.error({ err: error }, 'answer not sent');
  });
  return app;
}
