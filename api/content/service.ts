import type { Middleware } from 'koa';
import type { SearchIndex } from '../../domain/search.js';
import type { ApiKeys } from '../../storage/api-keys.js';
import type { Deliveries } from '../../storage/deliveries.js';
import type { GraphStore } from '../../storage/graph.js';
import type { Retrieval } from '../../storage/retrieval.js';
import { authenticate, requireApiVersion } from '../authenticate.js';
import type { RequestState } from '../context.js';
import { jsonBody } from '../json-body.js';
import { routesOf, type Service } from '../service.js';
import { type SyncDependencies, syncRoutes } from './connector-syncs.js';
import { type ConnectorDependencies, connectorRoutes } from './connectors.js';
import { type DatabaseDependencies, databaseRoutes, tenantRoutes } from './databases.js';
import { deliveryRoutes } from './deliveries.js';
import { contentDocument } from './document.js';
import { answerError } from './envelope.js';
import { type FeedbackDependencies, feedbackRoutes } from './feedback.js';
import { type IngestDependencies, ingestRoutes } from './ingest.js';
import { type ItemDependencies, itemRoutes } from './items.js';
import { codesOfRoute, oldNamesAccepted } from './old-names.js';
import { queryRoutes } from './query.js';
import { relationRoutes } from './relations.js';
import { statusRoutes } from './status.js';
import { type WebhookDependencies, webhookRoutes } from './webhooks.js';

export interface ContentDependencies
  extends IngestDependencies,
    WebhookDependencies,
    FeedbackDependencies,
    DatabaseDependencies,
    ConnectorDependencies,
    SyncDependencies,
    Omit<ItemDependencies, 'log'> {
  keys: ApiKeys;
  deliveries: Deliveries;
  index: SearchIndex;
  graph: GraphStore;
  retrieval: Retrieval;
  rateLimit: Middleware<RequestState>;
}

/** Content indexing: what no other service claims is answered by this one. */
export function contentService(deps: ContentDependencies): Service {
  return {
    paths: ['/'],
    answerError,
    document: contentDocument,
    middleware: [
      codesOfRoute(),
      authenticate(deps.keys, ['api']),
      deps.rateLimit,
      requireApiVersion(),
      routesOf(ingestRoutes(deps)),
      jsonBody(),
      oldNamesAccepted(),
      routesOf(databaseRoutes(deps)),
      routesOf(tenantRoutes(deps)),
      routesOf(statusRoutes(deps)),
      routesOf(relationRoutes(deps)),
      // After those whose paths look like an item's id.
      routesOf(itemRoutes(deps)),
      routesOf(queryRoutes(deps)),
      routesOf(feedbackRoutes(deps)),
      routesOf(connectorRoutes(deps)),
      routesOf(syncRoutes(deps)),
      routesOf(deliveryRoutes(deps)),
      routesOf(webhookRoutes(deps)),
    ],
  };
}
