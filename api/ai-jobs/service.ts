import type Router from '@koa/router';
import type { Middleware } from 'koa';
import type { ApiKeys } from '../../storage/api-keys.js';
import { authenticate } from '../authenticate.js';
import { codedErrors } from '../envelope.js';
import { jsonBody } from '../json-body.js';
import type { RequestState } from '../request-context.js';
import { routesOf, type Service } from '../service.js';
import { type DeliveryDependencies, deliveryRoutes } from '../webhooks/delivery-routes.js';
import { type CatalogueDependencies, catalogueRoutes } from './catalogue.js';
import { aiJobDocument, aiJobOperation } from './document.js';
import { type JobDependencies, jobRoutes } from './jobs.js';
import { type UploadDependencies, uploadRoutes } from './uploads.js';

export type AiJobServiceDependencies = JobDependencies &
  UploadDependencies &
  CatalogueDependencies &
  DeliveryDependencies & { keys: ApiKeys; rateLimit: Middleware<RequestState> };

/** A text of half a million characters with three bytes each, and room for the rest. */
const MAX_JSON_BYTES = 4 * 1024 * 1024;

/** AI jobs: OCR, text extraction and language tasks by pluggable providers. */
export function aiJobService(deps: AiJobServiceDependencies): Service {
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
function jobCallbackRoutes(deps: DeliveryDependencies): Router<RequestState> {
  return deliveryRoutes(deps, {
    prefix: '/v3/ai/callbacks',
    operation: aiJobOperation,
    noun: { one: 'callback', many: 'callbacks' },
    scopeOf: ({ state }) => ({ org: state.principal.org, events: ['async_job_completed'] }),
  });
}
