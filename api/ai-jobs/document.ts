import { z } from 'zod';
import { describeCallback } from '../callback-document.js';
import { plainEnvelope } from '../envelope.js';
import { operations } from '../operation.js';
import { API_KEY, type ServiceDocument } from '../service.js';
import { jobSchema } from './responses.js';

export const aiJobOperation = operations('AI jobs', plainEnvelope);

export const aiJobDocument: ServiceDocument = {
  tags: [
    {
      name: 'AI jobs',
      description: 'OCR, extraction and language tasks. A callback signed with RSA reports the completion.',
    },
  ],
  security: API_KEY,
  webhooks: {
    async_job_completed: describeCallback({
      operationId: 'asyncJobCompleted',
      summary: 'A job has finished',
      description:
        'Sent to the `webhook_receiver` of the job. A callback may arrive more than once: deduplicate by `job_id`. ' +
        'Responses below 500 are final; other responses, timeouts and connection errors are retried.',
      headers: {
        'webhook-id': z.string().meta({ description: 'The delivery id; the same for every attempt. Not signed.' }),
        'webhook-timestamp': z
          .string()
          .meta({ description: 'Time of the attempt, in seconds since 1970. Not signed.' }),
        'X-Service-Key-Id': z.string().meta({
          description: 'The key that signs: `GET /v3/ai/webhook-public-key?key_id=…` returns it.',
        }),
        'X-Service-Signature': z.string().meta({
          description:
            'RSA PKCS#1 v1.5 signature with SHA-256 over the lower-case hex SHA-256 of the body, in hex. Verify it with a ' +
            'key of `GET /v3/ai/webhook-public-key`.',
        }),
        'X-Service-Hash-Algorithm': z.literal('SHA256'),
        'X-Service-Webhook': z.literal('true'),
      },
      body: z.object({ event: z.literal('async_job_completed'), ...jobSchema.shape }),
    }),
  },
};
