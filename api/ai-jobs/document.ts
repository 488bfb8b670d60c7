import { z } from 'zod';
import { plainEnvelope } from '../envelope.js';
import { operations } from '../operation.js';
import { API_KEY, type ServiceDocument } from '../service.js';
import { jobSchema } from './responses.js';

export const aiJobOperation = operations('AI jobs', plainEnvelope);

export const aiJobDocument: ServiceDocument = {
  tags: [
    { name: 'AI jobs', description: 'OCR, extraction and language tasks, announced by a callback signed with RSA.' },
  ],
  security: API_KEY,
  webhooks: {
    async_job_completed: {
      post: {
        operationId: 'asyncJobCompleted',
        tags: ['AI jobs'],
        summary: 'A job has come to its end',
        description:
          'Sent to the `webhook_receiver` of the job. The same callback may come twice: remember `job_id`. ' +
          'Any answer below 500 is final; others, timeouts and connection errors are tried again.',
        security: [],
        requestParams: {
          header: z.object({
            'X-Service-Signature': z.string().meta({
              description:
                'RSA PKCS#1 v1.5 with SHA-256 over the lower-case hex SHA-256 of the body, in hex; verified with `GET /v3/ai/webhook-public-key`.',
            }),
            'X-Service-Hash-Algorithm': z.literal('SHA256'),
            'X-Service-Webhook': z.literal('true'),
          }),
        },
        requestBody: {
          required: true,
          content: {
            'application/json': { schema: z.object({ event: z.literal('async_job_completed'), ...jobSchema.shape }) },
          },
        },
        responses: { '2XX': { description: 'Accepted.' } },
      },
    },
  },
  errors: ['INVALID_PARAMETERS', 'UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMITED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'],
};
