import type Router from '@koa/router';
import { authenticate } from '../authenticate.js';
import type { Dependencies } from '../dependencies.js';
import { codedErrors } from '../envelope.js';
import { jsonBody } from '../json-body.js';
import type { RequestState } from '../request-context.js';
import { routesOf, type Service } from '../service.js';
import { deliveryRoutes } from '../webhooks/delivery-routes.js';
import { catalogueRoutes } from './catalogue.js';
import { aiJobDocument, aiJobOperation } from './document.js';
import { jobRoutes } from './jobs.js';
import { uploadRoutes } from './uploads.js';

/** A text of half a million characters with three bytes each, and room for the rest. */
const MAX_JSON_BYTES = 4 * 1024 * 1024;

/** AI jobs: OCR, text extraction and language tasks by pluggable providers. */
export function aiJobService(deps: Dependencies): Service {
  return {
    paths: ['/v3'],
    errors: codedErrors,
    document: aiJobDocument,
    middleware: [
      authenticate(deps.keys, ['api']),
      deps.rateLimit,
      routesOf(uploadRoutes(deps)),
      jsonBody(MAX_JSON_BYTES),
      routesOf(catalogueRoutes(deps)),
      routesOf(jobRoutes(deps)),
      routesOf(jobCallbackRoutes(deps)),
    ],
  };
}

/** Callbacks of jobs, their attempts, and manual retries. */
function jobCallbackRoutes(deps: Dependencies): Router<RequestState> {
  return deliveryRoutes(deps, {
    prefix: '/v3/ai/callbacks',
    operation: aiJobOperation,
    noun: { one: 'callback', many: 'callbacks' },
    scopeOf: ({ state }) => ({ org: state.principal.org, events: ['async_job_completed'] }),
  });
}
