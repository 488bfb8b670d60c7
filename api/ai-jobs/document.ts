import { z } from 'zod';
import { operations } from '../operation.js';
import { API_KEY, type ServiceDocument } from '../service.js';

export const aiJobOperation = operations('AI jobs', (ctx, status, data) => {
  ctx.status = status;
  ctx.body = data;
});

export const aiJobDocument: ServiceDocument = {
  tags: [
    { name: 'AI jobs', description: 'OCR, extraction and language tasks, announced by a callback signed with RSA.' },
  ],
  security: API_KEY,
  success: (data) => data,
  failure: (code) => z.object({ error: z.object({ code, message: z.string() }) }),
  errors: ['INVALID_PARAMETERS', 'UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMITED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'],
};
