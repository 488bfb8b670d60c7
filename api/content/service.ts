import type Router from '@koa/router';
import { authenticate, requireApiVersion } from '../authenticate.js';
import type { Dependencies } from '../dependencies.js';
import { contentErrors } from '../envelope.js';
import { jsonBody } from '../json-body.js';
import type { RequestState } from '../request-context.js';
import { routesOf, type Service } from '../service.js';
import { databaseRoutes, tenantRoutes } from './databases.js';
import { contentDocument } from './document.js';
import { feedbackRoutes } from './feedback.js';
import { ingestRoutes } from './ingest.js';
import { itemRoutes } from './items.js';
import { queryRoutes } from './query.js';
import { relationRoutes } from './relations.js';
import { statusRoutes } from './status.js';

/**
 * Content indexing, the service for all paths that no other service has.
 * @param others routes of webhooks and connectors, which are part of this API to clients
 */
export function contentService(deps: Dependencies, others: readonly Router<RequestState>[]): Service {
  return {
    paths: ['/'],
    errors: contentErrors,
    document: contentDocument,
    middleware: [
      authenticate(deps.keys, ['api']),
      deps.rateLimit,
      requireApiVersion(),
      routesOf(ingestRoutes(deps)),
      jsonBody(),
      routesOf(databaseRoutes(deps)),
      routesOf(tenantRoutes(deps)),
      routesOf(statusRoutes(deps)),
      routesOf(relationRoutes(deps)),
      // After the routes whose paths could also be the id of an item.
      routesOf(itemRoutes(deps)),
      routesOf(queryRoutes(deps)),
      routesOf(feedbackRoutes(deps)),
      ...others.map(routesOf),
    ],
  };
}
