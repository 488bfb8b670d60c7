import type Router from '@koa/router';
import { z } from 'zod';
import { indexingEventSchema } from '../../domain/webhooks/events.js';
import { authenticate, requireApiVersion } from '../authenticate.js';
import { describeCallback } from '../callback-document.js';
import type { Dependencies } from '../dependencies.js';
import { contentErrors } from '../envelope.js';
import { jsonBody } from '../json-body.js';
import type { RequestState } from '../request-context.js';
import { API_KEY, routesOf, type Service, type ServiceDocument } from '../service.js';
import { signatureHeaders } from '../webhooks/signing-secret.js';
import { databaseRoutes, tenantRoutes } from './databases.js';
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

const contentDocument: ServiceDocument = {
  tags: [
    { name: 'Databases', description: 'A database holds items. It is provisioned in the background.' },
    {
      name: 'Context',
      description: 'Items are ingested, and then indexed in the background; each item has an indexing status.',
    },
    { name: 'Query', description: 'Search in the ingested items.' },
    {
      name: 'Feedback',
      description: 'Ratings of query results, which change the order of later results within bounds.',
    },
    { name: 'Webhooks', description: 'The webhook registration of the organisation and its signing secret.' },
    { name: 'Connectors', description: 'Sites, feeds and buckets that are synced on a schedule.' },
    { name: 'Deliveries', description: 'The webhook deliveries, with their attempts and manual retries.' },
    { name: 'Keys', description: 'The keys of the organisation, for its administrators.' },
    { name: 'Audit', description: 'What administrators have done.' },
    { name: 'Tenants', description: 'Databases under their deprecated name.' },
  ],
  security: API_KEY,
  headers: z.object({ 'API-Version': z.literal('2').meta({ example: '2' }) }),
  webhooks: {
    'indexing.status_changed': describeCallback({
      operationId: 'indexingStatusChanged',
      summary: 'The indexing of an item has ended',
      description:
        'Sent to the registered URL. Any 2xx response within 15 seconds accepts the delivery. Anything else is retried for ' +
        'about 28 hours, except 410. A delivery may arrive more than once: deduplicate by `delivery_id`.',
      headers: { 'X-Service-Delivery-ID': z.string(), 'X-Service-Event': z.string(), ...signatureHeaders },
      body: indexingEventSchema,
      responses: { '410': { description: 'Do not retry.' } },
    }),
  },
};
