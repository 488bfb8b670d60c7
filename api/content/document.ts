import { z } from 'zod';
import { indexingEventSchema } from '../../domain/webhooks/events.js';
import { API_KEY, KEYED_ERRORS, type ServiceDocument } from '../service.js';
import { signatureHeaders } from '../webhooks/signing-secret.js';

export const contentDocument: ServiceDocument = {
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
  errors: KEYED_ERRORS,
  webhooks: {
    'indexing.status_changed': {
      post: {
        operationId: 'indexingStatusChanged',
        tags: ['Webhooks'],
        summary: 'The indexing of an item has ended',
        description:
          'Sent to the registered URL. Any 2xx response within 15 seconds accepts the delivery. Anything else is retried for ' +
          'about 28 hours, except 410. A delivery may arrive more than once: deduplicate by `delivery_id`.',
        security: [],
        requestParams: {
          header: z.object({
            'X-Service-Delivery-ID': z.string(),
            'X-Service-Event': z.string(),
            ...signatureHeaders,
          }),
        },
        requestBody: { required: true, content: { 'application/json': { schema: indexingEventSchema } } },
        responses: { '2XX': { description: 'Accepted.' }, '410': { description: 'Do not retry.' } },
      },
    },
  },
};
