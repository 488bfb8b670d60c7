import type Router from '@koa/router';
import type { RequestState } from '../request-context.js';
import { type DeliveryDependencies, deliveryRoutes } from '../webhooks/delivery-routes.js';
import { aiJobOperation } from './document.js';

/** Callbacks of jobs, their attempts, and manual retries. */
export function jobCallbackRoutes(deps: DeliveryDependencies): Router<RequestState> {
  return deliveryRoutes(deps, {
    prefix: '/v3/ai/callbacks',
    operation: aiJobOperation,
    noun: { one: 'callback', many: 'callbacks' },
    scopeOf: ({ state }) => ({ org: state.principal.org, events: ['async_job_completed'] }),
  });
}
