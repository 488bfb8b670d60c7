import { z } from 'zod';
import { indexingEventSchema } from '../../domain/webhooks/events.js';
import { API_KEY, type ServiceDocument } from '../service.js';

export const contentDocument: ServiceDocument = {
  tags: [
    { name: 'Databases', description: 'Where items live. A database is provisioned in the background.' },
    {
      name: 'Context',
      description: 'Items go in and are indexed in the background; their status tells how far they are.',
    },
    { name: 'Query', description: 'Answers from what was ingested.' },
    { name: 'Feedback', description: 'What clients think of the answers; it moves later ones, within bounds.' },
    { name: 'Webhooks', description: 'The one registration of an organisation, and its signing secret.' },
    { name: 'Connectors', description: 'Sites, feeds and buckets that are kept in sync by a schedule.' },
    { name: 'Deliveries', description: 'What was announced, how it went, and the button to try again.' },
    { name: 'Tenants', description: 'Databases under their deprecated names.' },
  ],
  security: API_KEY,
  headers: z.object({ 'API-Version': z.literal('2').meta({ example: '2' }) }),
  errors: ['INVALID_PARAMETERS', 'UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMITED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'],
  webhooks: {
    'indexing.status_changed': {
      post: {
        operationId: 'indexingStatusChanged',
        tags: ['Webhooks'],
        summary: 'An item has come to its end',
        description:
          'Sent to the registered URL. Any 2xx within 15 seconds accepts it; anything else is tried again for days. ' +
          'The same delivery may come twice: remember `delivery_id`.',
        security: [],
        requestParams: {
          header: z.object({
            'X-Service-Delivery-ID': z.string(),
            'X-Service-Event': z.string(),
            'X-Service-Signature': z.string().optional().meta({
              description:
                '`sha256=` and the lower-case hex HMAC-SHA256 of the body, byte for byte, by the signing secret; absent without one.',
            }),
          }),
        },
        requestBody: { required: true, content: { 'application/json': { schema: indexingEventSchema } } },
        responses: { '2XX': { description: 'Accepted.' }, '410': { description: 'Do not try again.' } },
      },
    },
  },
};
